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
			"Server expects of a datastore. New files belong to the owner of the directory.\n" +
			"With --adopt, PATH holds the parts of a datastore, such as a copy or what was rescued of one: what is\n" +
			"missing is made, permissions and owners are mended, as by check --repair --chunks. Nothing is removed but\n" +
			"what crashed writers left.",
		Flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "adopt", Usage: "make a usable datastore of what is there"},
			formatFlag(),
		},
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
	if c.Bool("adopt") {
		return p.adopt(c, path)
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

// adopt makes a datastore of what is there, and tells what it found.
func (p *program) adopt(c *cli.Context, path string) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	opts := datastore.Options{OnlyHost: p.settings.onlyHost, ServerStopped: p.settings.stopped, Events: p.events()}
	return p.reportCheck(format, func(each func(datastore.Finding)) (datastore.CheckReport, error) {
		return datastore.Adopt(c.Context, path, opts, datastore.CheckOptions{Chunks: true, Each: each})
	})
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
