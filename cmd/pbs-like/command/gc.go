package command

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) gcCommand() *cli.Command {
	return &cli.Command{
		Name:    "gc",
		Aliases: []string{"garbage-collect"},
		Usage:   "remove the data that no snapshot needs any more",
		Description: "Removes the chunks that no index refers to, once they have been left alone for the cut-off, and what\n" +
			"crashed operations left. It is refused while a backup runs anywhere on this host, and none starts\n" +
			"while it runs; restores and removals go on. Where an index or a directory can't be read, or a file\n" +
			"system is not mounted that belongs below the datastore, nothing is removed. It may be interrupted at\n" +
			"any moment.",
		Flags: []cli.Flag{
			&cli.DurationFlag{
				Name: flagCutoff, Value: datastore.DefaultCutoff, DefaultText: "24h5m",
				Usage: "keep unreferenced data that was used within the last `DURATION`: a backup that was interrupted can use it again. 0 keeps none",
			},
			&cli.StringSliceFlag{
				Name:  flagForgetMount,
				Usage: "go on although nothing is mounted on `DIR` below the datastore, as it was at the last collection, or should be; its snapshots lose their data",
			},
			&cli.BoolFlag{
				DisableDefaultText: true, Name: "touch",
				Usage: "set the time of access of the chunks in use, for a Proxmox Backup Server that collects this store too",
			},
			dryRunFlag(),
			yesFlag(),
			lockWaitFlag(),
			formatFlag(),
		},
		Action: withArgs("", p.gc),
	}
}

const (
	flagCutoff      = "cutoff"
	flagForgetMount = "forget-mount"
)

func (p *program) gc(c *cli.Context) error {
	opts, err := collectOptions(c)
	if err != nil {
		return err
	}
	format, question, ds, err := p.prepare(c, "removed")
	if err != nil {
		return err
	}
	if !opts.DryRun && !question.answered {
		plan := opts
		plan.DryRun = true
		report, err := ds.Collect(c.Context, plan)
		if len(report.Blocked) > 0 {
			return errors.Join(err, p.printCollection(format, true, report, true))
		}
		if err == nil {
			err = question.confirm(c.Context, "Remove "+garbage(report)+"?")
		}
		if err != nil {
			return err
		}
	}
	report, err := ds.Collect(c.Context, opts)
	if err != nil && report.RemovedBytes == 0 && len(report.Blocked) == 0 {
		return err
	}
	return errors.Join(err, p.printCollection(format, opts.DryRun, report, err != nil))
}

func collectOptions(c *cli.Context) (datastore.CollectOptions, error) {
	opts := datastore.CollectOptions{Cutoff: c.Duration(flagCutoff), DryRun: c.Bool(flagDryRun), Touch: c.Bool("touch")}
	for _, dir := range c.StringSlice(flagForgetMount) {
		opts.ForgetMounts = append(opts.ForgetMounts, path.Clean(dir))
	}
	if opts.Cutoff < 0 {
		return opts, usageErrorf("--%s %v is negative", flagCutoff, opts.Cutoff)
	}
	if opts.Cutoff == 0 {
		opts.Cutoff = datastore.NoCutoff
	}
	return opts, nil
}

func (p *program) printCollection(format outputFormat, dryRun bool, r datastore.CollectReport, failed bool) error {
	if format != formatText {
		p.progress.finish()
		return writeJSON(p.out, newCollectionJSON(r), format == formatJSONPretty)
	}
	for _, b := range r.Blocked {
		p.log.Warn().Msg(b.Error() + " (" + blockerAdvice(b) + ")")
	}
	for _, x := range r.Damaged {
		p.log.Warn().Msg(fmt.Sprintf("%s: %s lost%s", x.Path, plural(x.Lost, "chunk"), badOf(x)))
	}
	if more := r.DamagedIndexes - len(r.Damaged); more > 0 {
		p.log.Warn().Msg(fmt.Sprintf("%d more archives have lost chunks", more))
	}
	return p.summary(collectionLines(dryRun, r, failed)...)
}

func collectionLines(dryRun bool, r datastore.CollectReport, failed bool) []string {
	removed := "removed "
	if dryRun {
		removed = "would remove "
	}
	lines := []string{
		removed + garbage(r),
		fmt.Sprintf("kept, not old enough: %s, %s%s", plural(r.PendingChunks, "chunk"), humanize.IBytes(r.PendingBytes), pendingTimes(r)),
	}
	if failed {
		return lines // the rest was not counted to its end, perhaps
	}
	lines = append(lines, fmt.Sprintf("in use: %s, %s, for %s in %s%s", plural(r.DiskChunks, "chunk"), humanize.IBytes(r.DiskBytes),
		humanize.IBytes(r.IndexBytes), plural(r.IndexFiles, "archive"), factor(r)))
	if r.Missing+r.Empty+r.StillBad > 0 {
		lines = append(lines, fmt.Sprintf("damaged: %s missing, %d empty, %d files of damaged ones kept; %s lost data, and verify tells which ranges",
			plural(r.Missing, "chunk"), r.Empty, r.StillBad, plural(r.DamagedIndexes, "archive")))
	}
	return append(lines, fmt.Sprintf("took %v", r.Duration.Round(time.Millisecond)))
}

func badOf(x datastore.DamagedIndex) string {
	if x.Bad == 0 {
		return ""
	}
	return fmt.Sprintf(", of %d of them a damaged file is left", x.Bad)
}

// pendingTimes tells when what is pending may go.
func pendingTimes(r datastore.CollectReport) string {
	if r.PendingChunks == 0 || r.PendingUntil.IsZero() {
		return ""
	}
	from, until := r.PendingFrom.Format(time.DateTime), r.PendingUntil.Format(time.DateTime)
	if from == until {
		return "; until " + from
	}
	return fmt.Sprintf("; the first until %s, the last until %s", from, until)
}

// garbage is what goes.
func garbage(r datastore.CollectReport) string {
	parts := []string{plural(r.RemovedChunks, "chunk"), humanize.IBytes(r.RemovedBytes)}
	for _, other := range []struct {
		n    int
		noun string
	}{{r.RemovedBad, "file of a damaged chunk"}, {r.RemovedTemp, "unfinished chunk"}, {r.RemovedLeftovers, "leftover"}} {
		if other.n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", other.n, other.noun))
		}
	}
	return strings.Join(parts, ", ")
}

// factor is what deduplication and compression save.
func factor(r datastore.CollectReport) string {
	if r.DiskBytes == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f times)", float64(r.IndexBytes)/float64(r.DiskBytes))
}
