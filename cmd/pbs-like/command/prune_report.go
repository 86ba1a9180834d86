package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
)

// pruneView is how the reports of a pruning are shown.
type pruneView struct {
	p        *program
	format   outputFormat
	calendar *calendar // nil for none
	planned  bool      // it is said what would be
}

func (p *program) pruneView(c *cli.Context, opts datastore.PruneOptions) (pruneView, error) {
	format, err := outputFormatOf(c)
	view := pruneView{p: p, format: format, planned: opts.DryRun}
	terminal := isTerminal(p.streams.Out)
	wanted := terminal
	if c.IsSet(flagCalendar) {
		wanted = c.Bool(flagCalendar)
	}
	if wanted && format == formatText {
		view.calendar = &calendar{zone: opts.Zone, symbols: symbolsFor(terminal)}
	}
	return view, err
}

// print shows the reports. Those that only repeat a plan that was shown just now
// are cut down to the sum.
func (v pruneView) print(reports []datastore.PruneReport, whole bool) error {
	v.p.progress.finish()
	if v.format != formatText {
		return v.printJSON(reports)
	}
	if whole && (!v.p.settings.quiet || v.planned) {
		if err := v.printTable(reports); err != nil {
			return err
		}
	}
	return v.p.summary(v.sums(reports)...)
}

func (v pruneView) printTable(reports []datastore.PruneReport) error {
	rows := newTable(v.p.out, []column{{title: "snapshot"}, {title: "what"}, {title: "ns"}, {title: "why"}})
	for _, report := range reports {
		for _, s := range slices.Backward(report.Snapshots) {
			if err := rows.add(v.row(s)); err != nil {
				return err
			}
		}
	}
	if err := rows.close(); err != nil {
		return err
	}
	for _, report := range reports {
		if v.calendar == nil || len(report.Snapshots) == 0 {
			continue
		}
		title := withNamespace(report.Group.Namespace, report.Group.String())
		if _, err := fmt.Fprintf(v.p.out, "\n%s\n%s\n", printable(title), v.calendar.draw(report.Snapshots)); err != nil {
			return err
		}
	}
	return nil
}

func (v pruneView) row(s datastore.PrunedSnapshot) []string {
	return []string{s.Snapshot.String(), v.what(s.Outcome), s.Snapshot.Group.Namespace.String(), why(s)}
}

func (v pruneView) what(outcome datastore.PruneOutcome) string {
	switch outcome {
	case datastore.PruneKept:
		if v.planned {
			return "keep"
		}
	case datastore.PruneRemoved:
		if v.planned {
			return "remove"
		}
	case datastore.PruneBusy:
		return "in use"
	case datastore.PruneVanished:
		return "gone"
	case datastore.PruneChanged, datastore.PruneFailed:
	}
	return string(outcome)
}

func why(s datastore.PrunedSnapshot) string {
	if s.Err != nil {
		return oneLine(cause(s.Err))
	}
	var reasons []string
	for _, reason := range s.Reasons {
		reasons = append(reasons, string(reason))
	}
	if len(reasons) == 0 && s.Outcome == datastore.PruneKept {
		if s.Mark == backupinfo.MarkRemove {
			return "not reached"
		}
		return "no rule was given"
	}
	return strings.Join(reasons, ", ")
}

// cause is an error without the name of the snapshot, where there is a short form.
func cause(err error) string {
	if locked, ok := errors.AsType[*flock.LockedError](err); ok {
		return "in use by " + holders(locked)
	}
	return err.Error()
}

func holders(locked *flock.LockedError) string {
	const most = 3
	var names []string
	for _, h := range locked.Holders[:min(most, len(locked.Holders))] {
		_, name, _ := strings.Cut(h.String(), " by ") // without the manner: every holder is in the way
		names = append(names, name)
	}
	switch more := len(locked.Holders) - most; {
	case len(names) == 0:
		return "somebody who can't be seen from here"
	case more > 0:
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", and by ")
}

// skipped says why a snapshot that was to go did not, where that is no failure.
func skipped(s datastore.PrunedSnapshot) string {
	name := withNamespace(s.Snapshot.Group.Namespace, s.Snapshot.String())
	switch s.Outcome {
	case datastore.PruneBusy, datastore.PruneChanged:
		return "skipped " + name + ": " + cause(s.Err)
	case datastore.PruneVanished:
		return "skipped " + name + ": somebody else removed it"
	case datastore.PruneKept, datastore.PruneRemoved, datastore.PruneFailed:
	}
	return ""
}

func (v pruneView) sums(reports []datastore.PruneReport) []string {
	run := pruneRun{reports: reports}
	removed, kept := "removed ", "kept "
	if v.planned {
		removed, kept = "would remove ", "would keep "
	}
	all := 0
	var lines []string
	for _, report := range reports {
		all += len(report.Snapshots)
		if report.GroupRemoved {
			lines = append(lines, "removed empty group "+withNamespace(report.Group.Namespace, report.Group.String()))
		}
	}
	gone := run.count(datastore.PruneRemoved)
	line := removed + plural(gone, "snapshot") + ", " + kept + fmt.Sprint(all-gone-run.count(datastore.PruneVanished))
	if busy := run.count(datastore.PruneBusy); busy > 0 {
		line += fmt.Sprintf(", %d of them in use", busy)
	}
	return append(lines, line)
}

type pruneJSON struct {
	ID        string          `json:"backup-id"`
	Time      int64           `json:"backup-time"`
	Type      backupinfo.Type `json:"backup-type"`
	Keep      bool            `json:"keep"`
	Namespace string          `json:"ns,omitempty"`
	Protected bool            `json:"protected"`
}

func newPruneJSON(s datastore.PrunedSnapshot) pruneJSON {
	return pruneJSON{
		ID:        s.Snapshot.Group.ID,
		Time:      int64(s.Snapshot.Time),
		Type:      s.Snapshot.Group.Type,
		Keep:      s.Outcome.Stays(),
		Namespace: s.Snapshot.Group.Namespace.String(),
		Protected: s.Protected,
	}
}

func (v pruneView) printJSON(reports []datastore.PruneReport) error {
	list := jsonList{out: v.p.out, pretty: v.format == formatJSONPretty}
	for _, report := range reports {
		for _, s := range slices.Backward(report.Snapshots) {
			if err := list.add(newPruneJSON(s)); err != nil {
				return err
			}
		}
	}
	return list.close()
}
