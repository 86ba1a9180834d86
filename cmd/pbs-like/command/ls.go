package command

import (
	"errors"
	"io"
	"iter"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
)

func (p *program) lsCommand() *cli.Command {
	const args = "SNAPSHOT|GROUP ARCHIVE [PATH]"
	return &cli.Command{
		Name:      "ls",
		Usage:     "list a directory in an archive of a snapshot",
		ArgsUsage: args,
		Description: "Lists what is in the directory PATH of a .pxar archive, the root if there is no PATH, or what PATH is\n" +
			"if it is no directory. Only a small part of the archive is read. Names are shown with escapes for what a\n" +
			"terminal would obey; the JSON form has path-hex besides where a name is no UTF-8. An entry that is damaged\n" +
			"is named on standard error, and the exit code is then 12. Of a GROUP it takes the newest finished snapshot.",
		Flags: treeFlags(
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"R"}, DisableDefaultText: true, Usage: "also what is in the directories below"},
			formatFlag(),
		),
		Action: withArgs(args, p.ls),
	}
}

func (p *program) ls(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	return p.withTree(c, func(_ *datastore.Datastore, tree *datastore.Tree) error {
		e, err := tree.Lookup(c.Args().Get(2))
		if err != nil {
			return err
		}
		entries, err := entriesOf(tree, e, c.Bool("recursive"))
		if err != nil {
			return err
		}
		out := newListing(p, format, entryColumns(), entryRow, newEntryJSON)
		return closeListing(out, p.listEntries(entries, out))
	})
}

// listEntries goes on behind an entry that can't be read; what comes after it may be what is looked for.
func (p *program) listEntries(entries iter.Seq2[*pxar.Entry, error], out *listing[*pxar.Entry]) error {
	var damaged error
	for e, err := range entries {
		if err == nil {
			err = out.add(e)
		} else if errors.Is(err, pxar.ErrCorrupt) {
			p.log.Warn().Msg("can't be read: " + err.Error())
			damaged, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	return damaged
}

// entriesOf is what there is to list.
func entriesOf(tree *datastore.Tree, e *pxar.Entry, recursive bool) (iter.Seq2[*pxar.Entry, error], error) {
	if e.Kind == pxar.Directory && !recursive {
		dir, err := tree.Dir(e)
		if err != nil {
			return nil, err
		}
		return dir.Entries(), nil
	}
	walk, err := tree.Walk(e)
	if err != nil {
		return nil, err
	}
	return func(yield func(*pxar.Entry, error) bool) {
		for {
			e, err := walk.Next()
			if errors.Is(err, io.EOF) && !errors.Is(err, pxar.ErrCorrupt) {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}, nil
}
