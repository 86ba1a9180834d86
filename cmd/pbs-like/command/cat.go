package command

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
)

func (p *program) catCommand() *cli.Command {
	const args = "SNAPSHOT|GROUP ARCHIVE PATH..."
	return &cli.Command{
		Name:      "cat",
		Usage:     "write a file from an archive of a snapshot to standard output",
		ArgsUsage: args,
		Description: "Writes the content of the file PATH of a .pxar archive, or of several one behind the other, as it is.\n" +
			"Only the parts of the archive that they are in are read, and each is verified. Hard links are followed,\n" +
			"symbolic links are not. Of a GROUP it takes the newest finished snapshot.",
		Flags:  treeFlags(),
		Action: withArgs(args, p.cat),
	}
}

func (p *program) cat(c *cli.Context) error {
	return p.withTree(c, func(_ *datastore.Datastore, tree *datastore.Tree) error {
		var files []*pxar.Entry
		for _, path := range c.Args().Slice()[2:] { // all of them are looked for before anything is written
			e, err := lookupFile(tree, path)
			if err != nil {
				return err
			}
			if e.Kind == pxar.Symlink {
				return fmt.Errorf("%q is a symbolic link to %q: name that", e.Path, e.Target)
			}
			if e.Kind == pxar.Directory {
				return fmt.Errorf("%q is a directory: \"ls\" lists it, \"export --path\" writes it", e.Path)
			}
			if e.Kind != pxar.File {
				return fmt.Errorf("%q is a %v and has no content", e.Path, e.Kind)
			}
			files = append(files, e)
		}
		for _, e := range files {
			content, err := tree.Content(e)
			if err != nil {
				return err
			}
			if _, err := io.Copy(p.out, content); err != nil {
				return fmt.Errorf("%q: %w", e.Path, err)
			}
		}
		return nil
	})
}
