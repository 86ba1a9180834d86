package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// removal is what a removing command does.
type removal struct {
	// run removes something, or with dryRun only checks that it could.
	run func(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.RemovalReport, error)
	// describe says what a plan would remove, as the end of "Remove ".
	describe func(plan datastore.RemovalReport) string
}

// removeWholeFlags are those of the commands that remove several snapshots at once.
func removeWholeFlags() []cli.Flag {
	return []cli.Flag{
		dryRunFlag(),
		yesFlag(),
		&cli.BoolFlag{DisableDefaultText: true, Name: "keep-protected", Usage: "keep the protected snapshots and remove the others"},
		forceFlag("protected snapshots stay"),
		lockWaitFlag(),
		formatFlag(),
	}
}

// remove is what the removing commands have in common: find out what would go,
// ask, do it, and say what went and what stayed.
func (p *program) remove(c *cli.Context, remove removal) error {
	format, question, ds, err := p.prepare(c, "removed")
	if err != nil {
		return err
	}
	dryRun := c.Bool(flagDryRun)
	if !dryRun && !question.answered {
		plan, err := remove.tried(c.Context, ds, true)
		if err == nil {
			err = question.confirm(c.Context, "Remove "+remove.describe(plan)+" from "+ds.Path()+"?")
		}
		if err != nil {
			return err
		}
	}
	report, err := remove.tried(c.Context, ds, dryRun)
	return p.concludeRemoval(format, dryRun, report, err)
}

// tried runs the removal. Snapshots are reported oldest first.
func (r removal) tried(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.RemovalReport, error) {
	report, err := r.run(ctx, ds, dryRun)
	slices.SortFunc(report.Snapshots, backupinfo.Snapshot.Compare)
	slices.SortFunc(report.Protected, backupinfo.Snapshot.Compare)
	if errors.Is(err, datastore.ErrUnfinished) {
		err = fmt.Errorf("%w%w", err, errPresumablyInUse)
	}
	return report, err
}

// concludeRemoval prints the report, also after an error: something may be gone already.
func (p *program) concludeRemoval(format outputFormat, dryRun bool, report datastore.RemovalReport, err error) error {
	if err != nil && len(report.Snapshots)+len(report.Groups)+len(report.Namespaces) == 0 {
		return err
	}
	if printErr := p.printRemoval(format, dryRun, report); printErr != nil {
		return errors.Join(err, printErr)
	}
	switch kept := len(report.Protected); {
	case err != nil:
		return err
	case kept > 0:
		return fmt.Errorf("%w: %s kept", errPartly, plural(kept, "protected snapshot"))
	}
	return nil
}

type removalJSON struct {
	DryRun     bool `json:"dry-run,omitempty"`
	Protected  int  `json:"protected-snapshots"`
	Groups     int  `json:"removed-groups"`
	Namespaces int  `json:"removed-namespaces,omitempty"`
	Snapshots  int  `json:"removed-snapshots"`
}

func (p *program) printRemoval(format outputFormat, dryRun bool, r datastore.RemovalReport) error {
	if format != formatText {
		p.progress.finish()
		return writeJSON(p.out, removalJSON{dryRun, len(r.Protected), len(r.Groups), len(r.Namespaces), len(r.Snapshots)}, format == formatJSONPretty)
	}
	return p.summary(removalLines(dryRun, r)...)
}

func removalLines(dryRun bool, r datastore.RemovalReport) []string {
	removed, kept := "removed", "kept"
	if dryRun {
		removed, kept = "would remove", "would keep"
	}
	var lines []string
	for _, s := range r.Snapshots {
		lines = append(lines, removed+" snapshot "+withNamespace(s.Group.Namespace, s.String()))
	}
	for _, name := range r.Other {
		lines = append(lines, removed+" unknown "+name)
	}
	for _, g := range r.Groups {
		lines = append(lines, removed+" group "+withNamespace(g.Namespace, g.String()))
	}
	for _, ns := range r.Namespaces {
		lines = append(lines, removed+" namespace "+ns.String())
	}
	for _, s := range r.Protected {
		lines = append(lines, kept+" protected snapshot "+withNamespace(s.Group.Namespace, s.String()))
	}
	if len(lines) > 1 {
		lines = append(lines, removed+" "+counts(r))
	}
	return lines
}

func counts(r datastore.RemovalReport) string {
	text := plural(len(r.Snapshots), "snapshot")
	if len(r.Groups) > 0 {
		text = plural(len(r.Groups), "group") + ", " + text
	}
	if len(r.Namespaces) > 0 {
		text = plural(len(r.Namespaces), "namespace") + ", " + text
	}
	if len(r.Protected) > 0 {
		text += ", keeping " + plural(len(r.Protected), "protected snapshot")
	}
	return text
}

// describeGroup says what goes with a group, or of it when something is kept.
func describeGroup(g backupinfo.Group, plan datastore.RemovalReport) string {
	name := "group " + withNamespace(g.Namespace, g.String())
	count, when := plural(len(plan.Snapshots), "snapshot"), span(plan.Snapshots)
	if kept := len(plan.Protected); kept > 0 {
		return fmt.Sprintf("%s of %s (keeping %s%s)", count, name, plural(kept, "protected snapshot"), when)
	}
	if len(plan.Other) > 0 {
		when += ", " + plural(len(plan.Other), "unknown entry")
	}
	return fmt.Sprintf("%s (%s%s)", name, count, when)
}

// span is from when to when snapshots are, which stand oldest first.
func span(snapshots []backupinfo.Snapshot) string {
	switch n := len(snapshots); n {
	case 0:
		return ""
	case 1:
		return "; " + snapshots[0].Time.String()
	default:
		return fmt.Sprintf("; oldest %v, newest %v", snapshots[0].Time, snapshots[n-1].Time)
	}
}

// plural counts things. A noun that ends with "ry" is one like entry.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		return fmt.Sprintf("%d %sries", n, stem)
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
