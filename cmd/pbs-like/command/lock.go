package command

import (
	"context"
	"errors"
	"os/signal"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/storelock"
)

func (p *program) lockCommand() *cli.Command {
	const args = "SNAPSHOT|GROUP|datastore COMMAND..."
	return &cli.Command{
		Name:      "lock",
		Usage:     "hold a lock while a command runs",
		ArgsUsage: "SNAPSHOT|GROUP|datastore -- COMMAND...",
		Description: "Takes the lock that an operation on the thing would take, of a Proxmox Backup Server on this machine\n" +
			"as well, runs the command, and releases it when the command ends. Write -- before the command, so that\n" +
			"its flags are its own. What it keeps others from:\n\n" +
			"   vm/100             backing up to the group, removing it; not: removing or restoring one of its snapshots\n" +
			"   vm/100/TIME        removing, protecting and, without --shared, restoring the snapshot\n" +
			"   datastore          collecting garbage and, without --shared, backing up\n\n" +
			"The exit code is the command's: 128+N after signal N, 127 where there is no such command, 126 where it can't\n" +
			"be run. Before it runs the codes are those of all commands. INT, QUIT and WINCH are passed on unless\n" +
			"they come from the terminal, which gives them to the command too; TERM, HUP, USR1 and USR2 always.\n" +
			"The lock ends with this program, kill -9 included; the command then gets a TERM, as nothing protects it\n" +
			"any more. With --inherit the command and its children have the lock themselves, until the last has ended.",
		Flags: []cli.Flag{
			namespaceFlag("the `NAMESPACE` of the group or the snapshot"),
			&cli.BoolFlag{DisableDefaultText: true, Name: "shared", Usage: "let others hold it shared as well"},
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "say `TEXT` to those who meet the lock"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "inherit", Usage: "give the lock to the command as well: it then outlives this program"},
			waitFlag(),
		},
		Action: withArgs(args, p.lock),
	}
}

// waitFlag is --lock-wait, which may be called --wait here.
func waitFlag() cli.Flag {
	flag := lockWaitFlag().(*cli.DurationFlag)
	flag.Aliases = []string{"wait"}
	return flag
}

func (p *program) lock(c *cli.Context) (err error) {
	what, err := lockTarget(c)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	// From here on each signal is either the end of this program, or given to the command.
	signals := catchForwarded()
	defer signal.Stop(signals)
	held, err := what(c.Context, ds, datastore.HoldOptions{Shared: c.Bool("shared"), Message: c.String("message")})
	if err != nil {
		return err
	}
	defer func() {
		switch lost := held.Close(); {
		case errors.Is(lost, storelock.ErrLost), errors.Is(lost, storelock.ErrNotLocked):
			err = errLockLost(lost)
		case lost != nil:
			err := lost
			p.log.Warn().Msg("the lock was not released as it should: " + err.Error())
		}
	}()
	if c.Context.Err() != nil {
		return context.Cause(c.Context)
	}
	run := child{args: c.Args().Tail(), streams: p.streams, signals: signals, lost: held.Lost()}
	if c.Bool("inherit") {
		if scheme, err := ds.LockScheme(c.Context); err != nil || scheme.Mode == datastore.LockShared {
			return errors.Join(err, usageErrorf("--inherit: the lock of a store that several hosts share ends with the program that renews it"))
		}
		run.files = held.Files()
	}
	return run.run()
}

func lockTarget(c *cli.Context) (func(context.Context, *datastore.Datastore, datastore.HoldOptions) (*datastore.Held, error), error) {
	if c.Args().First() == wholeStore {
		return func(ctx context.Context, ds *datastore.Datastore, opts datastore.HoldOptions) (*datastore.Held, error) {
			return ds.HoldStore(ctx, opts)
		}, nil
	}
	object, err := objectArg(c, 0)
	return func(ctx context.Context, ds *datastore.Datastore, opts datastore.HoldOptions) (*datastore.Held, error) {
		return ds.Hold(ctx, object, opts)
	}, err
}
