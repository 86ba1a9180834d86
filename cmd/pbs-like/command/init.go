package command

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) initCommand() *cli.Command {
	const args = "PATH"
	return &cli.Command{
		Name:      "init",
		Usage:     "make a new, empty datastore",
		ArgsUsage: args,
		Description: "Makes the directory PATH, or uses it if it is there and empty, and in it all that a Proxmox Backup\n" +
			"Server expects of a datastore. New files belong to the owner of the directory.",
		Action: withArgs(args, p.initStore),
	}
}

func (p *program) initStore(c *cli.Context) error {
	if c.Args().First() == "" {
		return usageErrorf("the path is empty")
	}
	if other := p.line.value(flagDatastore); other != "" {
		return usageErrorf("init makes the datastore at its argument: --%s %q is one too many", flagDatastore, other)
	}
	path, err := filepath.Abs(c.Args().First())
	if err != nil {
		return err
	}
	// Else the message would name whichever file of the store is come across first.
	if _, err := datastore.Open(path, datastore.Options{}); err == nil {
		return fmt.Errorf("%q is a datastore: it %w", path, datastore.ErrExists)
	}
	err = datastore.Create(c.Context, path, datastore.CreateOptions{OnlyHost: p.settings.onlyHost, Events: p.events()})
	if err != nil {
		return err
	}
	return p.summary(fmt.Sprintf("new datastore %q", path))
}

// summary prints what was done, for people. With --quiet it says nothing.
func (p *program) summary(lines ...string) error {
	p.progress.finish()
	if p.settings.quiet {
		return nil
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(p.out, printable(line)); err != nil {
			return err
		}
	}
	return nil
}
