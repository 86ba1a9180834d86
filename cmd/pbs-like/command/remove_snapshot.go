package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) removeSnapshotCommand(name string, aliases ...string) *cli.Command {
	const args = "SNAPSHOT"
	return &cli.Command{
		Name:      name,
		Aliases:   aliases,
		Usage:     "remove one snapshot",
		ArgsUsage: args,
		Description: "Removes the snapshot, and its group with the last one. It is refused while a restore reads the\n" +
			"snapshot, a backup writes it or uses it as its base, and where it is protected. Its data stays in the\n" +
			"store until a garbage collection.",
		Flags: []cli.Flag{
			namespaceFlag("the `NAMESPACE` of the snapshot"),
			dryRunFlag(),
			yesFlag(),
			&cli.BoolFlag{DisableDefaultText: true, Name: "force", Usage: "take no locks: you answer for it that nobody uses the snapshot. A protected snapshot stays all the same"},
			lockWaitFlag(),
			formatFlag(),
		},
		Action: withArgs(args, p.removeSnapshot),
	}
}

func (p *program) removeSnapshot(c *cli.Context) error {
	snapshot, err := snapshotArg(c, 0)
	if err != nil {
		return err
	}
	force := c.Bool("force")
	return p.remove(c, func(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.RemovalReport, error) {
		return ds.RemoveSnapshot(ctx, snapshot, datastore.RemoveOptions{DryRun: dryRun, Force: force})
	})
}
