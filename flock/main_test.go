package flock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func TestMain(m *testing.M) {
	helperproc.Main(m, map[string]helperproc.Role{
		"lock":    roleLock,
		"keep":    roleKeep,
		"classic": roleClassic,
		"try":     roleTry,
		"hang":    roleHang,

		"contained": roleContained,
		"forget":    roleForget,
		"survey":    roleSurvey,
		"rounds":    roleRounds,
	})
}

// take is every way to take a lock, by name.
var take = map[string]func(Ref) (io.Closer, error){
	"shared":           func(r Ref) (io.Closer, error) { return TryShared(r) },
	"exclusive":        func(r Ref) (io.Closer, error) { return TryExclusive(r) },
	"record shared":    func(r Ref) (io.Closer, error) { return TryRecordShared(r) },
	"record exclusive": func(r Ref) (io.Closer, error) { return TryRecordExclusive(r) },
}

// roleLock takes a lock on a path and holds it until its input ends.
func roleLock(_ context.Context, args []string, c *helperproc.IO) error {
	g, err := take[args[0]](Ref{Name: args[1]})
	if err != nil {
		return err
	}
	c.Ready()
	if _, err := c.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("next: %w", err)
	}
	return g.Close()
}

// roleTry takes a lock each time it is told to "try" or to "wait" for it, says what
// came of it, and lets go.
func roleTry(ctx context.Context, args []string, c *helperproc.IO) error {
	for c.Ready(); ; {
		line, err := c.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		try := func() (io.Closer, error) { return take[args[0]](Ref{Name: args[1]}) }
		g, err := try()
		if line == "wait" && errors.Is(err, ErrLocked) {
			g, err = Take(ctx, Wait{Timeout: patience}, try)
		}
		if err != nil {
			c.Say(err.Error())
			continue
		}
		c.Say("free")
		if err := g.Close(); err != nil {
			return err
		}
	}
}

// roleContained is roleTry in a container: it sees only its own processes.
func roleContained(ctx context.Context, args []string, c *helperproc.IO) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	return roleTry(ctx, args, c)
}

// roleKeep holds whatever lock descriptor 3 carries until its input ends, and
// lets go of it in the rude way if it is told to.
func roleKeep(_ context.Context, _ []string, c *helperproc.IO) error {
	c.Ready()
	line, err := c.Next()
	if err == nil && line == "unlock" {
		if err := unix.Flock(3, unix.LOCK_UN); err != nil {
			return err
		}
		c.Say("unlocked")
		_, _ = c.Next()
	}
	return nil
}

// roleClassic takes a record lock as older programs do.
func roleClassic(_ context.Context, args []string, c *helperproc.IO) error {
	f, err := os.OpenFile(args[1], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	whole := unix.Flock_t{Type: unix.F_RDLCK}
	if args[0] == "exclusive" {
		whole.Type = unix.F_WRLCK
	}
	switch err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole); err {
	case nil:
		c.Say("got it")
	case unix.EAGAIN, unix.EACCES:
		c.Say("busy")
	default:
		return err
	}
	_, _ = c.Next()
	return nil
}
