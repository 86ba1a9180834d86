package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) verifyCommand() *cli.Command {
	const args = "[GROUP|SNAPSHOT]"
	return &cli.Command{
		Name:      "verify",
		Usage:     "read snapshots and check that all their data is good",
		ArgsUsage: args,
		Description: "Reads the indexes, blobs and chunks of the snapshots, each chunk once, and compares them with their\n" +
			"checksums; of encrypted data that shows what was stored is still there, not that it is what was backed\n" +
			"up. With the key it shows that too, and that the list of the archives was not changed. The result is\n" +
			"kept in each snapshot; --skip-verified and --outdated-after with a key pass over what was made with that\n" +
			"key only where it was found good with it, not where a server or we compared checksums. A damaged chunk is\n" +
			"renamed, so that the next backup stores it anew. What could not be read is neither good nor bad: the exit\n" +
			"code is then 3. If something is damaged or missing it is 12. Backups, restores and removals of\n" +
			"other snapshots go on meanwhile.",
		Flags: append(walkFlags(),
			&cli.StringFlag{Name: "outdated-after", Usage: "pass over what was found good within the last `DURATION`, such as 30d or 12h"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "skip-verified", Usage: "pass over what was found good, whenever that was"},
			&cli.StringFlag{
				Name:  "max-duration",
				Usage: "read nothing more after `DURATION`, such as 2h; the next run goes on with those that were verified least recently",
			},
			resumeFlag(), stateDirFlag(),
			&cli.StringFlag{
				Name:  flagSample,
				Usage: "read only that `PART` of the chunks, such as 5%; what is wrong is recorded, that nothing is wrong only of snapshots that were read whole",
			},
			&cli.Uint64Flag{
				DefaultText: "random", Name: flagSeed,
				Usage: "choose the sample with `NUMBER`: the same number chooses the same chunks; without it, others each time",
			},
			&cli.BoolFlag{DisableDefaultText: true, Name: flagDryRun, Aliases: []string{"n"}, Usage: "only read: keep no results, rename no damaged chunk"},
			lockWaitFlag(),
			formatFlag(),
			keyFlags()[0], keyFlags()[1],
		),
		Action: withArgs(args, p.verify),
	}
}

const (
	flagSample = "sample"
	flagSeed   = "seed"
)

func (p *program) verify(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	opts, err := verifyOptions(c)
	if err != nil {
		return err
	}
	if opts.Memory, err = verifyMemory(c); err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	if opts.Key, err = p.keyOf(c); err != nil {
		return err
	}
	out := newListing(p, format, verdictColumns(), verdictRow, newVerdictJSON)
	var outputErr error
	opts.Each = func(v datastore.SnapshotVerdict) {
		p.reportVerdict(v)
		if outputErr == nil {
			outputErr = out.add(v)
		}
	}
	report, err := ds.Verify(c.Context, opts)
	for _, entry := range report.Unlisted {
		p.log.Warn().Msg("can't be read: " + entry.Error())
	}
	p.progress.finish()
	err = closeListing(out, errors.Join(err, outputErr))
	if opts.Sample > 0 && err == nil && !p.settings.quiet {
		p.log.Info().Msg(fmt.Sprintf("read a sample of %.6g%% of the chunks; --%s %d chooses the same again", opts.Sample*100, flagSeed, opts.Seed))
	}
	p.suggestResume(opts.Memory != nil, report)
	return p.concludeVerification(c.Context, report, err)
}

func verifyOptions(c *cli.Context) (opts datastore.VerifyOptions, err error) {
	where, err := walkScope(c)
	if err != nil {
		return opts, err
	}
	opts = datastore.VerifyOptions{Namespace: where.ns, Depth: where.depth, SkipVerified: c.Bool("skip-verified"), DryRun: c.Bool(flagDryRun)}
	if opts.OutdatedAfter, err = longDuration(c, "outdated-after"); err != nil {
		return opts, err
	}
	if err = sampleOptions(c, &opts); err != nil {
		return opts, err
	}
	if opts.MaxDuration, err = longDuration(c, "max-duration"); err != nil || c.NArg() == 0 {
		return opts, err
	}
	object, err := objectArg(c, 0)
	if err != nil {
		return opts, err
	}
	if snapshot, ok := object.Snapshot(); ok {
		opts.Snapshots = []backupinfo.Snapshot{snapshot}
	} else {
		opts.Groups = []backupinfo.Group{object.Group}
	}
	return opts, nil
}

// longDuration reads a flag that may be in days, which time.ParseDuration doesn't know.
func longDuration(c *cli.Context, name string) (time.Duration, error) {
	text := c.String(name)
	if text == "" {
		return 0, nil
	}
	var d time.Duration
	var err error
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if d, err = time.ParseDuration(days + "h"); err == nil {
			const longest = 100 * 365 * 24 * time.Hour // a product beyond the range comes out as anything
			d = min(max(d, -longest/24), longest/24) * 24
		}
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d <= 0 {
		return 0, usageErrorf("--%s %q: must be a duration, such as 30d, 12h or 90m", name, text)
	}
	return d, nil
}

// reportVerdict names what is wrong with one snapshot.
func (p *program) reportVerdict(v datastore.SnapshotVerdict) {
	name := withNamespace(v.Snapshot.Group.Namespace, v.Snapshot.String())
	for _, archive := range v.Archives {
		p.log.Warn().Msg(name + ": " + archive.String())
		for _, d := range archive.Damaged {
			p.log.Warn().Str("chunk", d.Digest.String()).Msg(fmt.Sprintf("%s: %s: bytes %d to %d: %s", name, archive.Name, d.Start, d.End, damageText(d)))
		}
	}
	if v.Err != nil && v.Verdict != datastore.VerdictVanished {
		p.log.Warn().Msg(name + ": " + v.Err.Error())
	}
	if v.Unrecorded != nil {
		p.log.Warn().Msg(name + ": the result could not be kept: " + v.Unrecorded.Error())
	}
}

func damageText(d datastore.DamagedChunk) string {
	text := "could not be read"
	if d.Lost {
		text = "lost"
	}
	if d.Err != nil {
		text += ": " + d.Err.Error()
	}
	return text
}

func verdictColumns() []column {
	return []column{{title: "snapshot"}, {title: "result"}, {title: "ns"}, {title: "archives"}}
}

func verdictRow(v datastore.SnapshotVerdict) []string {
	var damaged []string
	for _, archive := range v.Archives {
		damaged = append(damaged, displayName(archive.Name))
	}
	text := string(v.Verdict)
	if v.Encrypted && v.Verdict == datastore.VerdictOK {
		text += ",encrypted"
	}
	if v.Signature == datastore.SignatureOK && v.Verdict == datastore.VerdictOK {
		text += ",signed"
	}
	return []string{v.Snapshot.String(), text, v.Snapshot.Group.Namespace.String(), strings.Join(damaged, ", ")}
}

// partialVerdicts counts the snapshots of which less than all was read in this run.
func partialVerdicts(r datastore.VerifyReport) string {
	var text strings.Builder
	for _, partial := range []struct {
		verdict datastore.Verdict
		text    string
	}{
		{datastore.VerdictRecent, "skipped, found good before"},
		{datastore.VerdictSampled, "sampled and nothing found wrong"},
		{datastore.VerdictPartly, "read in part, until the time was up"},
	} {
		if n := r.Verdicts[partial.verdict]; n > 0 {
			fmt.Fprintf(&text, "; %s %s", plural(n, "snapshot"), partial.text)
		}
	}
	return text.String()
}

// concludeVerification sums up, and makes an error of what is not good.
func (p *program) concludeVerification(ctx context.Context, r datastore.VerifyReport, err error) error {
	text := fmt.Sprintf("%s good, %d failed, %d could not be verified; %s, %s in %v", plural(r.Verdicts[datastore.VerdictOK], "snapshot"),
		r.Verdicts[datastore.VerdictFailed], r.Verdicts[datastore.VerdictUnsure],
		plural(r.Chunks, "chunk"), humanize.IBytes(r.Bytes), r.Duration.Round(time.Millisecond))
	if r.Encrypted > 0 {
		text += fmt.Sprintf("; %d of them are encrypted, and without their key only their checksums were compared", r.Encrypted)
	}
	if r.Resumed > 0 {
		text += fmt.Sprintf("; %s not read again, because a run that was cut off had proven them", plural(r.Resumed, "chunk"))
	}
	text += partialVerdicts(r)
	if n := len(r.Recovered); n > 0 {
		text += fmt.Sprintf("; recovered %s that an earlier verification had put aside and that are good", plural(n, "chunk"))
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	if !p.settings.quiet {
		p.log.Info().Msg(text)
	}
	switch n := r.Verdicts[datastore.VerdictFailed]; {
	case n > 0:
		return fmt.Errorf("%s failed: %w", plural(n, "snapshot"), datastore.ErrCorrupt)
	case r.Verdicts[datastore.VerdictUnsure]+r.Verdicts[datastore.VerdictBusy]+notReached(r)+r.Unrecorded+len(r.Unlisted) > 0:
		return fmt.Errorf("%w: %d could not be read, %d in use, %d not reached, %d results not kept, %d entries not listed", errPartly,
			r.Verdicts[datastore.VerdictUnsure], r.Verdicts[datastore.VerdictBusy], notReached(r), r.Unrecorded, len(r.Unlisted))
	}
	return nil
}

// notReached counts what the time was too short for.
func notReached(r datastore.VerifyReport) int {
	return r.Verdicts[datastore.VerdictNotReached] + r.Verdicts[datastore.VerdictPartly]
}
