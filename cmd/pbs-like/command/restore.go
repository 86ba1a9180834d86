package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) restoreCommand() *cli.Command {
	const args = "SNAPSHOT|GROUP ARCHIVE TARGET|-"
	return &cli.Command{
		Name:      "restore",
		Usage:     "restore an archive of a snapshot: an image to a file or device, a directory tree to a directory",
		ArgsUsage: args,
		Description: "Writes the archive to the file TARGET, or to standard output. Of a GROUP it takes the newest finished\n" +
			"snapshot. Each chunk is verified on the way. A new file appears under its name when it is complete;\n" +
			"ranges of zeros become holes. What is encrypted needs its key, which checks the signature too. While it\n" +
			"runs the snapshot can't be removed; any number of restores of it may run at a time.\n\n" +
			"A directory tree (.pxar, or a pair of .mpxar and .ppxar) is restored into the directory TARGET, which is made\n" +
			"if it is not there. Nothing outside of it is changed, whatever the archive says, and no symbolic link in it is\n" +
			"followed. What is there stays, and is named, unless it is to be overwritten. What can't be restored is named and\n" +
			"the rest is restored; the exit code is then 3, or 12 where the archive is damaged. Without root, owners and what\n" +
			"else needs it are counted, and are no failure. \"cat\" writes one file of a tree to standard output.\n\n" +
			"--pattern /etc restores that directory with all in it, --pattern nginx.conf what has this name wherever it is, and\n" +
			"--pattern '*.conf' --pattern '!/var' what is so called and not below /var. The names keep their path below TARGET.\n" +
			"A pattern that nothing matches is named; the exit code is then 3, or 10 if nothing was restored.",
		Flags: append([]cli.Flag{
			namespaceFlag("the `NAMESPACE` of the snapshot"),
			&cli.BoolFlag{
				Name: flagOverwrite, DisableDefaultText: true,
				Usage: "replace TARGET if it is there; needed for a block device too, and to write to a terminal",
			},
			&cli.BoolFlag{
				Name: flagSalvage, DisableDefaultText: true,
				Usage: "go on over damaged or missing chunks: their ranges become zeros and are named; the exit code is 12 all the same",
			},
			&cli.BoolFlag{
				Name: flagNoSync, DisableDefaultText: true,
				Usage: "do not wait until a restored file is on disk: faster, but after a power cut it may be full of zeros",
			},
			lockWaitFlag(),
		}, append(restoreTreeFlags(), keyFlags()...)...),
		Action: withArgs(args, p.restore),
	}
}

func (p *program) restore(c *cli.Context) error {
	object, err := objectArg(c, 0)
	if err != nil {
		return err
	}
	name, err := backupinfo.ParseArchiveName(c.Args().Get(1))
	if err != nil {
		return asUsage(err)
	}
	target := c.Args().Get(2)
	if tree, err := wantsTree(c, name, target); tree || err != nil {
		if err != nil {
			return err
		}
		return p.restoreTree(c, target)
	}
	options := datastore.RestoreOptions{Overwrite: c.Bool(flagOverwrite), Salvage: c.Bool(flagSalvage), NoSync: c.Bool(flagNoSync)}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	if err := p.checkTarget(ds.Path(), target, options.Overwrite); err != nil {
		return err
	}
	snapshot, err := p.snapshotOf(c.Context, ds, object)
	if err != nil {
		return err
	}
	key, err := p.keyToRead(c, ds, snapshot)
	if err != nil {
		return err
	}
	r, err := ds.OpenSnapshot(c.Context, snapshot, datastore.ReadOptions{Key: key})
	if err != nil {
		return err
	}
	return errors.Join(p.restoreArchive(c.Context, r, name, target, options), r.Close())
}

// snapshotOf is the snapshot itself, or the newest finished one of a group, which it names.
func (p *program) snapshotOf(ctx context.Context, ds *datastore.Datastore, object backupinfo.Object) (backupinfo.Snapshot, error) {
	snapshot, err := snapshotOf(ctx, ds, object)
	if _, named := object.Snapshot(); !named && err == nil {
		p.log.Info().Msg("newest finished snapshot: " + withNamespace(snapshot.Group.Namespace, snapshot.String()))
	}
	return snapshot, err
}

// snapshotOf is the snapshot itself, or the newest finished one of a group.
func snapshotOf(ctx context.Context, ds *datastore.Datastore, object backupinfo.Object) (backupinfo.Snapshot, error) {
	if snapshot, ok := object.Snapshot(); ok {
		return snapshot, nil
	}
	return ds.Latest(ctx, object.Group)
}

func (p *program) restoreArchive(
	ctx context.Context, r *datastore.SnapshotReader, name backupinfo.ArchiveName, target string, opts datastore.RestoreOptions,
) (err error) {
	archive, err := r.OpenArchive(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	if target == standardOutput {
		stats, err := archive.CopyTo(ctx, p.out, opts)
		p.reportDamage(stats)
		return err
	}
	stats, err := archive.RestoreFile(ctx, target, opts)
	p.reportDamage(stats)
	if err != nil {
		return err
	}
	return p.summary(restoreLine(r.Snapshot(), name, target, stats))
}

// standardOutput as a target means just that.
const standardOutput = "-"

func restoreLine(s backupinfo.Snapshot, name backupinfo.ArchiveName, target string, stats datastore.RestoreStats) string {
	text := fmt.Sprintf("%s of %s to %q: %s", name.Display(), withNamespace(s.Group.Namespace, s.String()), target, humanize.IBytes(stats.Size))
	if stats.Holes > 0 {
		text += fmt.Sprintf(" (%s of it as holes)", humanize.IBytes(stats.Holes))
	}
	return text + fmt.Sprintf(" in %v", stats.Duration.Round(time.Millisecond))
}

// reportDamage names each range that could not be restored.
func (p *program) reportDamage(stats datastore.RestoreStats) {
	for _, d := range stats.Damaged {
		p.log.Warn().Uint64("start", d.Start).Uint64("end", d.End).Msg("damaged, zeros instead: " + d.Err.Error())
	}
}
