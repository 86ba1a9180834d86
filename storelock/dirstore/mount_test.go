package dirstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

// mounted has a file system to itself, and says what comes of locks in it: DIR KIND.
func mounted(ctx context.Context, args []string, c *helperproc.IO) error {
	dir, kind := args[0], args[1]
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("small", dir, "tmpfs", 0, map[string]string{"full": "size=64k", "no inodes": "nr_inodes=8", "read-only": ""}[kind])
	}
	if err != nil {
		c.Say(fmt.Sprintf("needs a file system of its own: %v", err))
		return nil
	}
	want, spoil, repair := spoiled(dir, kind)
	s, err := dirstore.Open(dir, dirstore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	held, err := storelock.Acquire(ctx, s, storelock.Options{})
	if err != nil {
		return err
	}
	if err := spoil(); err != nil {
		return err
	}
	for _, exclusive := range []bool{false, true} {
		if _, err := storelock.Acquire(ctx, s, storelock.Options{Exclusive: exclusive}); !errors.Is(err, want) || storelock.Code(err) != 72 {
			return fmt.Errorf("exclusive %v: %w", exclusive, err)
		}
	}
	if infos, err := storelock.List(ctx, s, storelock.Options{}); err != nil || len(infos) != 1 {
		return fmt.Errorf("%d listed: %w", len(infos), err)
	}
	if err := held.Check(ctx); err != nil {
		return fmt.Errorf("held from before: %w", err)
	}
	if err := repair(); err != nil {
		return err
	}
	if err := held.Close(); err != nil {
		return err
	}
	g, err := storelock.Acquire(ctx, s, storelock.Options{Exclusive: true})
	if err != nil {
		return err
	}
	if err := g.Close(); err != nil {
		return err
	}
	for _, prefix := range []string{"locks", "queue"} {
		if entries, _ := os.ReadDir(filepath.Join(dir, prefix)); len(entries) > 0 {
			return fmt.Errorf("left %s/%s", prefix, entries[0].Name())
		}
	}
	c.Say("fine")
	return nil
}

func spoiled(dir, kind string) (want error, spoil, repair func() error) { //nolint:staticcheck // no function that fails: what is expected of one
	remount := func(flags uintptr) func() error {
		return func() error { return unix.Mount("", dir, "", unix.MS_REMOUNT|flags, "") }
	}
	fill := filepath.Join(dir, "fill")
	switch kind {
	case "read-only":
		return unix.EROFS, remount(unix.MS_RDONLY), remount(0)
	case "full":
		return unix.ENOSPC, func() error {
			if err := os.WriteFile(fill, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
				return fmt.Errorf("not full: %w", err)
			}
			return nil
		}, func() error { return os.Remove(fill) }
	}
	return unix.ENOSPC, func() error {
			if err := os.Mkdir(fill, 0o700); err != nil {
				return err
			}
			for n := 0; ; n++ {
				if err := os.WriteFile(filepath.Join(fill, fmt.Sprint(n)), nil, 0o600); err != nil {
					return nil //nolint:nilerr // it is full
				}
			}
		}, func() error {
			return os.RemoveAll(fill)
		}
}

func TestFileSystemsThatTakeNothingFailAndGoOnAfterwards(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, for file systems of its own")
	}
	for _, kind := range []string{"full", "no inodes", "read-only"} {
		p := helperproc.StartWith(t, helperproc.Options{Cloneflags: unix.CLONE_NEWNS}, "mounted", t.TempDir(), kind)
		if line := p.Line(); line != "fine" {
			t.Skip(line)
		}
		must(t, p.Wait())
	}
}

// TestClosedPipesAtAnyMomentLeaveNothing: whoever started the program has gone.
func TestClosedPipesAtAnyMomentLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs := 30
	if testing.Short() {
		runs = 4
	}
	for range runs {
		p := helperproc.Start(t, "loop", dir)
		p.WaitReady()
		p.CloseInput()
		must(t, p.Wait())
		wantNoObjects(t, dir)
	}
}
