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
			"store until a garbage collection.\n\n" + unfinishedRule,
		Flags: []cli.Flag{
			namespaceFlag("the `NAMESPACE` of the snapshot"),
			dryRunFlag(),
			yesFlag(),
			forceFlag("a protected snapshot stays"),
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
	force := c.Bool(flagForce)
	return p.remove(c, removal{
		run: func(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.RemovalReport, error) {
			return ds.RemoveSnapshot(ctx, snapshot, datastore.RemoveOptions{DryRun: dryRun, Force: force})
		},
		describe: func(datastore.RemovalReport) string {
			return "snapshot " + withNamespace(snapshot.Group.Namespace, snapshot.String())
		},
	})
}

// unfinishedRule is a part of the description of what removes.
const unfinishedRule = "An unfinished snapshot that " + programName + " did not begin may be in the making by a server whose locks\n" +
	"can't be seen: it is removed only after nothing changed in it for 24 hours, for which a fresh copy\n" +
	"counts as a change, or with --force. Remains of a killed " + programName + " can go at once."

func forceFlag(kept string) cli.Flag {
	return &cli.BoolFlag{
		DisableDefaultText: true, Name: flagForce,
		Usage: "take no locks, and do not wait 24 hours for an unfinished snapshot: you answer for it that nobody uses what is removed; " + kept + " all the same",
	}
}
