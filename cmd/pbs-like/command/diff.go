package command

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

const (
	flagContent  = "content"
	flagExitCode = "exit-code"
)

func (p *program) diffCommand() *cli.Command {
	const args = "SNAPSHOT|GROUP SNAPSHOT|GROUP ARCHIVE"
	return &cli.Command{
		Name:      "diff",
		Usage:     "tell what changed in an archive from one snapshot to another",
		ArgsUsage: args,
		Description: "Of a directory tree (.pxar, or .mpxar with .ppxar) it lists what was added (+), removed (-) and modified (*),\n" +
			"and what of it: type, mode, owner, size, mtime, flags, xattrs, acl, capabilities, target and so on. CONTENT is same or\n" +
			"different where the chunks that the content is in tell it, without reading them; else it is not-compared. --content\n" +
			"reads and compares what they don't tell. Files of equal metadata whose content was not compared are not listed; how\n" +
			"many there are is said on standard error. What can't be read is named there, and the exit code is then 3.\n" +
			"Of an image (.img) it lists the ranges that differ, by their chunks, which are 4 MiB as a rule: less may have changed.\n" +
			"The exit code is 0 whether something changed or not, unless --exit-code is given. Of a GROUP the newest finished\n" +
			"snapshot is taken.",
		Flags: treeFlags(
			&cli.StringSliceFlag{
				Name:  flagPattern,
				Usage: "only what this `GLOB` matches: a name, or a whole path if it has a slash, as for \"find\"; of several, what one of them matches",
			},
			&cli.BoolFlag{Name: flagContent, DisableDefaultText: true, Usage: "read and compare the contents that chunks don't tell about"},
			&cli.BoolFlag{Name: flagExitCode, DisableDefaultText: true, Usage: "end with 3 unless both are known to be equal"},
			formatFlag(),
		),
		Action: withArgs(args, p.diff),
	}
}

// errDiffers is the answer that --exit-code asks for.
var errDiffers = errors.New("not equal, or not known to be")

func (p *program) diff(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	objects, err := parseArgs(c, 2, objectArg)
	if err != nil {
		return err
	}
	name, err := backupinfo.ParseArchiveName(c.Args().Get(2))
	if err != nil {
		return asUsage(err)
	}
	compare := p.diffTrees
	switch {
	case name.Kind() == backupinfo.FixedIndex:
		compare = p.diffImages
	case !isTreeName(name):
		return usageErrorf("%q can't be compared: it is neither a directory tree (.pxar) nor an image (.img); \"restore\" writes it to a file", name.Display())
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	return p.withBoth(c, ds, objects, func(old, new *datastore.SnapshotReader) error {
		equal, err := compare(c, format, name, old, new)
		if err == nil && !equal && c.Bool(flagExitCode) {
			err = errDiffers
		}
		return err
	})
}

// withBoth opens two snapshots, each under its shared lock.
func (p *program) withBoth(
	c *cli.Context, ds *datastore.Datastore, objects []backupinfo.Object, act func(old, new *datastore.SnapshotReader) error,
) (err error) {
	var readers []*datastore.SnapshotReader
	defer func() {
		for _, r := range readers {
			err = errors.Join(err, r.Close())
		}
	}()
	ring := &keyring{p: p, c: c}
	for _, object := range objects {
		snapshot, err := p.snapshotOf(c.Context, ds, object)
		if err != nil {
			return err
		}
		info, err := ds.Snapshot(c.Context, snapshot)
		if err != nil {
			return err
		}
		key, err := ring.key(info.Fingerprint)
		if err != nil {
			return err
		}
		r, err := ds.OpenSnapshot(c.Context, snapshot, datastore.ReadOptions{Key: key})
		if err != nil {
			return err
		}
		readers = append(readers, r)
	}
	return act(readers[0], readers[1])
}

// differs is the summary of a comparison.
func (p *program) differs(format outputFormat, text string) error {
	if format != formatText {
		return nil
	}
	return p.summary(text)
}

func changedText(added, removed, modified int) string {
	if added+removed+modified == 0 {
		return "no change"
	}
	return fmt.Sprintf("%d added, %d removed, %d modified", added, removed, modified)
}
