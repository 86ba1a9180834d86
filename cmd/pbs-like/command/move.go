package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

const (
	flagTargetNS = "target-ns"
	flagMerge    = "merge"
)

func (p *program) moveGroupCommand(name string) *cli.Command {
	const args = "GROUP"
	return &cli.Command{
		Name:      name,
		Usage:     "move a group to another namespace",
		ArgsUsage: args,
		Description: "Moves a group with its owner, its notes and all its snapshots, protected ones too, to a namespace that\n" +
			"exists. Refused while the group or one of its snapshots is in use. Where such a group is there already,\n" +
			"--" + flagMerge + " adds the snapshots to it, if both have one owner and no two snapshots have the same time. A merge\n" +
			"that is cut off leaves each snapshot in one of the two groups; the same command moves the rest.",
		Flags: []cli.Flag{
			namespaceFlag("the `NAMESPACE` of the group"),
			&cli.StringFlag{Name: flagTargetNS, Usage: "move it to `NAMESPACE`; \"\" is the root"},
			&cli.BoolFlag{DisableDefaultText: true, Name: flagMerge, Usage: "add the snapshots to a group that is there already"},
			dryRunFlag(),
			yesFlag(),
			lockWaitFlag(),
			formatFlag(),
		},
		Action: withArgs(args, p.moveGroup),
	}
}

func (p *program) moveGroup(c *cli.Context) error {
	group, err := groupArg(c, 0)
	if err != nil {
		return err
	}
	if !c.IsSet(flagTargetNS) {
		return usageErrorf("--%s is missing: the namespace to move the group to; \"\" is the root", flagTargetNS)
	}
	target, err := parseNamespace(c.String(flagTargetNS))
	if err != nil {
		return err
	}
	if target == group.Namespace {
		return usageErrorf("group %q is in that namespace already", group.String())
	}
	merge := c.Bool(flagMerge)
	return p.move(c, relocation{
		run: func(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.MoveReport, error) {
			return ds.MoveGroup(ctx, group, target, datastore.MoveOptions{DryRun: dryRun, Merge: merge})
		},
		what:  "group " + withNamespace(group.Namespace, group.String()),
		where: "namespace " + namespaceName(target),
	})
}

func (p *program) moveNamespaceCommand() *cli.Command {
	const args = "NAMESPACE NEW-NAME"
	return &cli.Command{
		Name:      "move",
		Usage:     "give a namespace another name or place",
		ArgsUsage: args,
		Description: "Gives the namespace the name NEW-NAME, such as a/b, with all that is in and below it. What is above the\n" +
			"new name has to be there, the new name itself must not be: it is no directory to move into. Refused while\n" +
			"anything in it is in use.",
		Flags:  []cli.Flag{dryRunFlag(), yesFlag(), lockWaitFlag(), formatFlag()},
		Action: withArgs(args, p.moveNamespace),
	}
}

func (p *program) moveNamespace(c *cli.Context) error {
	from, err := namespaceArg(c, 0)
	if err != nil {
		return err
	}
	to, err := namespaceArg(c, 1)
	if err != nil {
		return err
	}
	if from.Contains(to) {
		return usageErrorf("namespace %q can't be moved to itself or into itself, as %q", from, to)
	}
	return p.move(c, relocation{
		run: func(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.MoveReport, error) {
			return ds.MoveNamespace(ctx, from, to, datastore.MoveNamespaceOptions{DryRun: dryRun})
		},
		what:  "namespace " + from.String(),
		where: to.String(),
	})
}

// relocation is what a moving command does.
type relocation struct {
	// run moves something, or with dryRun only checks that it could.
	run         func(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.MoveReport, error)
	what, where string
}

// move is what the moving commands have in common: find out whether it can be done, ask, do it, and say what was done.
func (p *program) move(c *cli.Context, r relocation) error {
	format, question, ds, err := p.prepare(c, "moved")
	if err != nil {
		return err
	}
	dryRun := c.Bool(flagDryRun)
	if !dryRun && !question.answered {
		plan, err := r.tried(c.Context, ds, true)
		if err == nil {
			err = question.confirm(c.Context, fmt.Sprintf("Move %s (%s) to %s?", r.what, movedCounts(plan), r.where))
		}
		if err != nil {
			return err
		}
	}
	report, err := r.tried(c.Context, ds, dryRun)
	if err != nil {
		return err
	}
	return p.printMove(format, dryRun, r, report)
}

func (r relocation) tried(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.MoveReport, error) {
	report, err := r.run(ctx, ds, dryRun)
	switch {
	case errors.Is(err, datastore.ErrUnfinished):
		err = fmt.Errorf("%w%w", err, errUnseenWriter)
	case err != nil && len(report.Snapshots)+len(report.Namespaces) > 0:
		err = fmt.Errorf("%w: %w", errPartly, err)
	}
	return report, err
}

type moveJSON struct {
	DryRun     bool `json:"dry-run,omitempty"`
	Merged     bool `json:"merged"`
	Groups     int  `json:"moved-groups"`
	Namespaces int  `json:"moved-namespaces,omitempty"`
	Snapshots  int  `json:"moved-snapshots"`
}

func (p *program) printMove(format outputFormat, dryRun bool, r relocation, report datastore.MoveReport) error {
	if format != formatText {
		p.progress.finish()
		out := moveJSON{dryRun, report.Merged, len(report.Groups), len(report.Namespaces), len(report.Snapshots)}
		return writeJSON(p.out, out, format == formatJSONPretty)
	}
	verb := "moved"
	switch {
	case dryRun && report.Merged:
		verb = "would merge"
	case dryRun:
		verb = "would move"
	case report.Merged:
		verb = "merged"
	}
	return p.summary(fmt.Sprintf("%s %s (%s) to %s", verb, r.what, movedCounts(report), r.where))
}

func movedCounts(r datastore.MoveReport) string {
	text := plural(len(r.Snapshots), "snapshot")
	if len(r.Namespaces) > 0 {
		text = plural(len(r.Namespaces), "namespace") + ", " + plural(len(r.Groups), "group") + ", " + text
	}
	return text
}
