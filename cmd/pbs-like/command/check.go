package command

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) checkCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "find what is wrong with the structure of the datastore",
		Description: "Looks at every directory, at the files of the snapshots and at the names of the chunks: permissions and\n" +
			"owners, what is missing, what is damaged or does not fit its manifest, what was left behind, and what\n" +
			"does not belong there. It reads no data: that is what verify is for. It takes no lock and changes\n" +
			"nothing, unless there is --repair, which needs the datastore for itself: no backup may run meanwhile.\n" +
			"Errors and warnings that stand make the exit code 12, what could not be looked at makes it 3.",
		Flags: []cli.Flag{
			&cli.BoolFlag{
				DisableDefaultText: true, Name: "repair",
				Usage: "mend what can be mended without harm: missing directories, permissions, owners, what crashed writers left. No snapshot and no chunk is removed",
			},
			&cli.BoolFlag{DisableDefaultText: true, Name: "chunks", Usage: "look at the file of every chunk too, which takes many times longer"},
			lockWaitFlag(),
			formatFlag(),
		},
		Action: withArgs("", p.check),
	}
}

func (p *program) check(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	opts := datastore.CheckOptions{Chunks: c.Bool("chunks"), Repair: c.Bool("repair")}
	return p.reportCheck(format, func(each func(datastore.Finding)) (datastore.CheckReport, error) {
		opts.Each = each
		return ds.Check(c.Context, opts)
	})
}

// standingError says that a check found something. It ends like damage, and is not
// called that: a directory that is missing loses no data.
type standingError string

func (e standingError) Error() string { return string(e) }
func (standingError) Unwrap() error   { return datastore.ErrCorrupt }

// reportCheck prints the findings of a check as they come, and makes an error of what stands.
func (p *program) reportCheck(format outputFormat, check func(each func(datastore.Finding)) (datastore.CheckReport, error)) error {
	findings := p.newFindings(format)
	report, err := check(findings.add)
	p.progress.finish()
	if err != nil && findings.none() {
		return err
	}
	if err := findings.close(err); err != nil {
		return err
	}
	if !p.settings.quiet {
		p.log.Info().Msg(checkSummary(report))
	}
	switch standing := report.Errors + report.Warnings; {
	case standing > 0:
		return standingError(fmt.Sprintf("%s and %s stand", plural(report.Errors, "error"), plural(report.Warnings, "warning")))
	case report.Unchecked > 0:
		return fmt.Errorf("%w: %s could not be checked", errPartly, plural(report.Unchecked, "entry"))
	}
	return nil
}

func checkSummary(r datastore.CheckReport) string {
	text := fmt.Sprintf("%s, %s, %s, %s in %d directories: %s, %s, %s", plural(r.Namespaces, "namespace"), plural(r.Groups, "group"),
		plural(r.Snapshots, "snapshot"), plural(r.ChunkFiles, "chunk"), r.ChunkDirectories,
		plural(r.Errors, "error"), plural(r.Warnings, "warning"), plural(r.Notes, "note"))
	if r.Unchecked > 0 {
		text += fmt.Sprintf(", %d not checked", r.Unchecked)
	}
	if r.Repaired > 0 {
		text += fmt.Sprintf(", %d repaired", r.Repaired)
	}
	return text + fmt.Sprintf(" (%v)", r.Duration.Round(time.Millisecond))
}

// maxRows is how many findings of one kind a table shows. After a copy with the wrong
// options there may be one for each chunk.
const maxRows = 50

// findings prints findings: a table in which what there is too much of is only counted, or all of them as JSON.
type findings struct {
	list   *listing[datastore.Finding]
	format outputFormat
	counts map[datastore.FindingKind]int
	err    error // of the output
	p      *program
}

func (p *program) newFindings(format outputFormat) *findings {
	return &findings{
		list:   newListing(p, format, findingColumns(), findingRow, newFindingJSON),
		format: format, counts: map[datastore.FindingKind]int{}, p: p,
	}
}

func (f *findings) none() bool { return len(f.counts) == 0 }

func (f *findings) add(found datastore.Finding) {
	f.counts[found.Kind]++
	if f.err == nil && (f.format != formatText || f.counts[found.Kind] <= maxRows) {
		f.err = f.list.add(found)
	}
}

// close ends the list, and says what can be done.
func (f *findings) close(err error) error {
	if f.err != nil {
		return f.err
	}
	if err = closeFindings(f, err); err != nil || f.format != formatText || f.p.settings.quiet {
		return err
	}
	var lines []string
	for _, kind := range datastore.FindingKinds() {
		n := f.counts[kind]
		if n == 0 {
			continue
		}
		line := string(kind) + ": " + advice(kind)
		if n > maxRows {
			line = fmt.Sprintf("%s: %d in all, of which %d are shown; %s", kind, n, maxRows, advice(kind))
		}
		lines = append(lines, line)
	}
	return f.p.summary(lines...)
}

func closeFindings(f *findings, err error) error {
	if f.none() && f.format == formatText {
		return err // no title without a row
	}
	return closeListing(f.list, err)
}

func findingColumns() []column {
	return []column{{title: "severity"}, {title: "kind"}, {title: "path"}, {title: "state"}, {title: "what"}}
}

func findingRow(f datastore.Finding) []string {
	what := f.Detail
	if f.Err != nil {
		what += ": " + oneLine(f.Err.Error())
	}
	return []string{string(f.Severity), string(f.Kind), f.Path, findingState(f), what}
}

func findingState(f datastore.Finding) string {
	switch {
	case f.Repaired:
		return "repaired"
	case f.Kind == datastore.FindingUnchecked:
		return "unknown"
	case f.Err != nil:
		return "not repaired"
	case f.Repairable:
		return "repairable"
	}
	return "stands"
}

type findingJSON struct {
	Advice     string `json:"advice"`
	Detail     string `json:"detail"`
	Error      string `json:"error,omitempty"`
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	Repairable bool   `json:"repairable"`
	Repaired   bool   `json:"repaired"`
	Severity   string `json:"severity"`
}

func newFindingJSON(f datastore.Finding) any {
	out := findingJSON{
		Advice: advice(f.Kind), Detail: f.Detail, Kind: string(f.Kind), Path: f.Path,
		Repairable: f.Repairable, Repaired: f.Repaired, Severity: string(f.Severity),
	}
	if f.Err != nil {
		out.Error = f.Err.Error()
	}
	return out
}
