package command

import (
	"context"
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // --timezone works where the machine has no zones of its own

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

const flagCalendar = "calendar"

func (p *program) pruneCommand() *cli.Command {
	const args = "[GROUP]"
	return &cli.Command{
		Name:      "prune",
		Usage:     "remove the snapshots that no rule keeps",
		ArgsUsage: args,
		Description: "Looks at one group, or at each group of the namespace --ns, and keeps what the --keep options say; without\n" +
			"any of them, everything. Hours, days, weeks (of ISO 8601), months and years are those of --timezone. The\n" +
			"--keep-within options count back from the newest snapshot, and only add to what the others keep.\n" +
			"Protected snapshots stay. Unfinished ones count for no rule and go, but for the newest of all, and those\n" +
			"that are being written. A snapshot that is in use is skipped, says by whom, and is no failure.\n" +
			"The data stays in the store until a garbage collection.",
		Flags: append(keepFlags(),
			&cli.StringFlag{Name: "timezone", DefaultText: "local", Usage: "the `ZONE` of the calendar, such as UTC or Europe/Vienna"},
			namespaceFlag("the `NAMESPACE` of the groups"),
			&cli.BoolFlag{DisableDefaultText: true, Name: "recursive", Usage: "without GROUP: also the groups of the namespaces below"},
			dryRunFlag(),
			yesFlag(),
			&cli.BoolFlag{Name: flagCalendar, DefaultText: "on a terminal", Usage: "draw what stays and what goes, week by week"},
			lockWaitFlag(),
			formatFlag(),
		),
		Action: withArgs(args, p.prune),
	}
}

func keepFlags() []cli.Flag {
	var flags []cli.Flag
	for _, unit := range []string{"last", "hourly", "daily", "weekly", "monthly", "yearly"} {
		flags = append(flags, &cli.IntFlag{Name: "keep-" + unit, DefaultText: "none", Usage: keepUsage(unit)})
	}
	flags = append(flags, &cli.StringFlag{Name: "keep-within", Usage: "keep all of the last `SPAN`, such as 36h, 7d or 1y6m"})
	for _, unit := range []string{"hourly", "daily", "weekly", "monthly", "yearly"} {
		flags = append(flags, &cli.StringFlag{Name: "keep-within-" + unit, Usage: "within the last `SPAN`, keep the newest of each " + period(unit)})
	}
	return flags
}

func keepUsage(unit string) string {
	if unit == "last" {
		return "keep the newest `N`"
	}
	return "keep the newest of each of the newest `N` " + period(unit) + "s"
}

func period(unit string) string {
	if unit == "daily" {
		return "day"
	}
	return unit[:len(unit)-len("ly")]
}

// pruneOptions reads the rules and their zone.
func pruneOptions(c *cli.Context) (opts datastore.PruneOptions, err error) {
	keep := &opts.Keep
	for unit, n := range map[string]*int{
		"last": &keep.Last, "hourly": &keep.Hourly, "daily": &keep.Daily, "weekly": &keep.Weekly, "monthly": &keep.Monthly, "yearly": &keep.Yearly,
	} {
		if *n = c.Int("keep-" + unit); *n < 0 {
			return opts, usageErrorf("--keep-%s %d is negative", unit, *n)
		}
	}
	for name, span := range map[string]*backupinfo.Span{
		"": &keep.Within, "-hourly": &keep.WithinHourly, "-daily": &keep.WithinDaily, "-weekly": &keep.WithinWeekly,
		"-monthly": &keep.WithinMonthly, "-yearly": &keep.WithinYearly,
	} {
		if name = "keep-within" + name; !c.IsSet(name) {
			continue
		}
		if *span, err = backupinfo.ParseSpan(c.String(name)); err != nil {
			return opts, usageErrorf("--%s: %v", name, err)
		}
	}
	opts.DryRun = c.Bool(flagDryRun)
	opts.Zone = time.Local
	if name := c.String("timezone"); name != "" && name != "local" {
		opts.Zone, err = time.LoadLocation(name)
	}
	if err != nil {
		return opts, usageErrorf("--timezone %q: %v", c.String("timezone"), err)
	}
	return opts, nil
}

func (p *program) prune(c *cli.Context) error {
	opts, err := pruneOptions(c)
	if err != nil {
		return err
	}
	view, err := p.pruneView(c, opts)
	if err != nil {
		return err
	}
	question := question{p: p, answered: true} // where no rule is given nothing is removed
	if opts.Keep.Keeps() {
		question, err = p.newQuestion(c)
	} else {
		p.log.Warn().Msg("no --keep option is given, so everything is kept")
	}
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	unread := unreadable{p: p}
	groups, err := groupsToPrune(c, ds, &unread)
	if err != nil {
		return err
	}
	if !opts.DryRun && !question.answered {
		if err := p.askToPrune(c.Context, ds, groups, opts, view, question); err != nil {
			return err
		}
	}
	run := pruneAll(c.Context, ds, groups, opts)
	if len(run.reports) == 0 && len(run.failed) > 0 {
		return unread.result(p.concludePrune(c.Context, run))
	}
	if err := view.print(run.reports, question.answered || opts.DryRun); err != nil {
		return err
	}
	return unread.result(p.concludePrune(c.Context, run))
}

// groupsToPrune is the group that was asked for, or all of the scope.
func groupsToPrune(c *cli.Context, ds *datastore.Datastore, unread *unreadable) (groups []backupinfo.Group, err error) {
	if c.NArg() > 0 {
		group, err := groupArg(c, 0)
		if err == nil && c.Bool("recursive") {
			err = usageErrorf("--recursive is for all groups of a namespace, and a group is given: %q", c.Args().First())
		}
		return []backupinfo.Group{group}, err
	}
	where := scope{}
	if where.ns, err = namespaceOf(c); err != nil {
		return nil, err
	}
	if c.Bool("recursive") {
		where.depth = -1
	}
	err = walkGroups(c.Context, ds, where, unread, func(g datastore.GroupInfo) error {
		groups = append(groups, g.Group)
		return nil
	})
	if err == nil && len(groups) == 0 && where.depth == 0 {
		unread.p.warnOfNamespacesBelow(c.Context, ds, where.ns)
	}
	return groups, err
}

// warnOfNamespacesBelow is for who prunes a namespace that has no group of its own: what
// lies below it would stay for ever, and nobody would notice.
func (p *program) warnOfNamespacesBelow(ctx context.Context, ds *datastore.Datastore, ns backupinfo.Namespace) {
	for below, err := range ds.Namespaces(ctx, ns, 1) {
		if err == nil && below != ns {
			p.log.Warn().Msgf("no group is in namespace %q, and there are namespaces below it, which --recursive looks at too", ns)
			return
		}
	}
}

// askToPrune shows the plan and asks, if there is anything to remove.
func (p *program) askToPrune(
	ctx context.Context, ds *datastore.Datastore, groups []backupinfo.Group,
	opts datastore.PruneOptions, view pruneView, question question,
) error {
	opts.DryRun = true
	plan := pruneAll(ctx, ds, groups, opts)
	removed := plan.count(datastore.PruneRemoved)
	if removed == 0 {
		return nil
	}
	view.planned = true
	if view.format == formatText {
		if err := errors.Join(view.print(plan.reports, true), p.out.Flush()); err != nil {
			return err
		}
	}
	return question.confirm(ctx, "Remove "+plural(removed, "snapshot")+"?")
}

// pruneRun is what pruning several groups came to.
type pruneRun struct {
	reports []datastore.PruneReport
	failed  []error
}

func (r pruneRun) count(outcome datastore.PruneOutcome) int {
	n := 0
	for _, report := range r.reports {
		n += report.Count(outcome)
	}
	return n
}

// pruneAll prunes one group after the other. One that fails does not stop the
// others, and one of several that is gone by now is none.
func pruneAll(ctx context.Context, ds *datastore.Datastore, groups []backupinfo.Group, opts datastore.PruneOptions) (run pruneRun) {
	for _, group := range groups {
		report, err := ds.Prune(ctx, group, opts)
		nothing := err != nil && len(report.Snapshots) == 0 // then there is nothing to show of it
		if nothing && len(groups) > 1 && errors.Is(err, datastore.ErrNotFound) {
			continue
		}
		if !nothing {
			run.reports = append(run.reports, report)
		}
		if err != nil {
			run.failed = append(run.failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return run
}

// concludePrune names what was skipped and what failed.
func (p *program) concludePrune(ctx context.Context, run pruneRun) error {
	for _, report := range run.reports {
		for _, s := range report.Snapshots {
			if text := skipped(s); text != "" {
				p.log.Info().Msg(text)
			}
		}
	}
	removed := run.count(datastore.PruneRemoved)
	if len(run.failed) == 0 || removed == 0 || ctx.Err() != nil {
		return errors.Join(run.failed...)
	}
	return p.partly(run.failed, fmt.Sprintf("%s removed, not all that should have been", plural(removed, "snapshot")))
}
