package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/export"
	"github.com/pbs-like/pbs-like/pxar"
)

func (p *program) exportCommand() *cli.Command {
	const args = "SNAPSHOT|GROUP ARCHIVE -"
	return &cli.Command{
		Name:      "export",
		Usage:     "write an archive of a snapshot, or a directory in it, as tar, zip or pxar to standard output",
		ArgsUsage: args,
		Description: "Writes a .pxar archive, or a pair of .mpxar and .ppxar, in another format. Names keep the path that they\n" +
			"have in the archive; a pxar archive begins with the directory of --path. tar has owners, modes, times, links,\n" +
			"devices, attributes, access lists and capabilities; zip has names, contents, modes, times and symbolic links.\n" +
			"What the format can't hold is named on standard error, and the exit code is then 3.",
		Flags: treeFlags(
			&cli.StringFlag{Name: "format", Value: "tar", Usage: "`FORMAT` of the output: tar, zip or pxar"},
			&cli.StringFlag{Name: "path", Usage: "only the directory or file `PATH`"},
			&cli.BoolFlag{
				Name: "salvage", DisableDefaultText: true,
				Usage: "go on over damaged or missing chunks: files get zeros there and are named; the exit code is 12 all the same",
			},
			&cli.BoolFlag{Name: flagOverwrite, DisableDefaultText: true, Usage: "write to a terminal all the same"},
		),
		Action: withArgs(args, p.export),
	}
}

type exporter func(io.Writer, *pxar.Archive, *pxar.Entry, export.Options) (export.Stats, error)

func exporterOf(format string) (exporter, error) {
	switch format {
	case "tar":
		return export.Tar, nil
	case "zip":
		return export.Zip, nil
	case "pxar":
		return export.Pxar, nil
	}
	return nil, usageErrorf("--format %q: must be tar, zip or pxar", format)
}

func (p *program) export(c *cli.Context) error {
	write, err := exporterOf(c.String("format"))
	if err != nil {
		return err
	}
	if target := c.Args().Get(2); target != standardOutput {
		return usageErrorf("%q: the output goes to standard output only, which is -; send that to a file", target)
	}
	return p.withTree(c, func(ds *datastore.Datastore, tree *datastore.Tree) error {
		if err := p.checkTarget(ds.Path(), standardOutput, c.Bool(flagOverwrite)); err != nil {
			return err
		}
		top, err := tree.Lookup(c.String("path"))
		if err != nil {
			return err
		}
		stats, err := write(p.out, tree.Archive, top, p.exportOptions(c.Bool("salvage")))
		if err != nil {
			return err
		}
		return exported(stats)
	})
}

func (p *program) exportOptions(salvage bool) export.Options {
	return export.Options{
		LeftOut: func(path string, why error) {
			p.log.Warn().Msg(fmt.Sprintf("%q: %v", path, why))
		},
		PassOver: func(path string, err error) bool {
			if !salvage || !errors.Is(err, datastore.ErrCorrupt) && !errors.Is(err, pxar.ErrCorrupt) {
				return false
			}
			p.log.Warn().Msg(fmt.Sprintf("%q is damaged, zeros instead: %v", path, err))
			return true
		},
	}
}

// exported is the error of an export that came to its end.
func exported(stats export.Stats) error {
	switch {
	case stats.Damaged > 0:
		return fmt.Errorf("%w: %s with zeros in the place of what is lost", datastore.ErrCorrupt, plural(stats.Damaged, "file"))
	case stats.LeftOut > 0:
		return fmt.Errorf("%w: %s left out", errPartly, plural(stats.LeftOut, "entry"))
	}
	return nil
}
