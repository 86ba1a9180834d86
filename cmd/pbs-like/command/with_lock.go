package command

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/storelock"
)

// remoteDelay is how long an object store may take to show what was stored, where nobody has measured it.
const remoteDelay = time.Second

func (p *program) withLockCommand() *cli.Command {
	const args = "COMMAND..."
	return &cli.Command{
		Name:      "with-lock",
		Usage:     "hold a lock that reaches other hosts while a command runs",
		ArgsUsage: "-- COMMAND...",
		Description: "Takes the lock of --" + flagLockStore + ", which may be a directory that several hosts share, such as a Borg\n" +
			"repository, or a place in an object store; runs the command; and gives the lock back. Write -- before\n" +
			"the command, so that its flags are its own. Credentials of an object store come from AWS_ACCESS_KEY_ID and its\n" +
			"like, or ~/.aws; AWS_ENDPOINT_URL names a server that is not Amazon's.\n\n" +
			"The lock is a lease: a host that stands still for too long, or loses the store, loses it. The command then\n" +
			"gets a TERM, ten seconds later a KILL, and the exit code is 14. Else the exit code is the command's: 128+N after signal\n" +
			"N, 127 where there is no such command. Signals are passed on.",
		Flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "exclusive", Usage: "let nobody else hold it; else others may hold it shared as well"},
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "say `TEXT` to those who meet the lock"},
			&cli.DurationFlag{
				Name: "stale", DefaultText: "30m",
				Usage: "let others take the lock `DURATION` after the last sign of life; all who use it should say the same",
			},
			lockWaitFlag(),
		},
		Action: withArgs(args, p.withLock),
	}
}

// errLockLost counts for more than how the command ended.
func errLockLost(err error) error {
	return fmt.Errorf("the command was without its lock in the end: %w: %w", storelock.ErrLost, err)
}

func (p *program) withLock(c *cli.Context) (err error) {
	if p.settings.lockStore == "" {
		return usageErrorf("which lock? --%s names its directory, or its place in an object store", flagLockStore)
	}
	if lockWait(c) < 0 {
		return usageErrorf("--%s %v is negative", flagLockWait, lockWait(c))
	}
	p.settings.waited = lockWait(c) > 0
	backend, closer, err := p.openLockStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer()) }()
	opts := p.lockStoreOptions(backend)
	opts.Exclusive, opts.Message, opts.Timeout, opts.Stale = c.Bool("exclusive"), c.String("message"), lockWait(c), c.Duration("stale")
	opts.Command = c.Args().First()
	opts.Waiting = func(err *storelock.LockedError) { p.log.Warn().Msg("waiting: " + err.Error()) }
	// From here on each signal is either the end of this program, or given to the command.
	signals := catchForwarded()
	defer signal.Stop(signals)
	guard, err := storelock.Acquire(c.Context, backend, opts)
	if err != nil {
		return err
	}
	defer func() {
		lost := guard.Close()
		if errors.Is(lost, storelock.ErrLost) || errors.Is(lost, storelock.ErrNotLocked) {
			err = errLockLost(lost)
		} else if lost != nil {
			p.log.Warn().Msg("the lock was not given back as it should: " + lost.Error())
		}
	}()
	if c.Context.Err() != nil {
		return context.Cause(c.Context)
	}
	return child{args: c.Args().Slice(), streams: p.streams, signals: signals, lost: guard.Context().Done()}.run()
}
