package dirstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

// TestPermissionsThatCanNotBeSetKeepNobodyOut: FAT, CIFS and FUSE mounts know none, or none of ours. Nothing
// is synced, so that what a share says to that does not matter; anything else that fails is a failure.
func TestPermissionsThatCanNotBeSetKeepNobodyOut(t *testing.T) {
	t.Parallel()
	for _, errno := range []unix.Errno{unix.EPERM, unix.ENOTSUP, unix.ENOSYS, unix.EINVAL, unix.EIO} {
		dir := t.TempDir()
		must(t, os.Chmod(dir, 0o775))
		var ops []fsop.Op
		s := open(t, dir, dirstore.Options{Disk: &fsop.Disk{After: func(c fsop.Change, result error) error {
			ops = append(ops, c.Op)
			if c.Op == fsop.OpChmod || c.Op == fsop.OpChown {
				return errno
			}
			return result
		}}})
		g, err := storelock.Acquire(t.Context(), s, storelock.Options{Exclusive: true})
		if (err == nil) != (errno != unix.EIO) {
			t.Errorf("%s: %v", unix.ErrnoName(errno), err)
		}
		must(t, g.Close())
		if text := strings.Join(opNames(ops), " "); !strings.Contains(text, "chmod") || strings.Contains(text, "sync") || strings.Contains(text, "link") {
			t.Errorf("%s: %s", unix.ErrnoName(errno), text)
		}
	}
}

func opNames(ops []fsop.Op) (names []string) {
	for _, op := range ops {
		names = append(names, string(op))
	}
	return names
}

// TestAProcessThatMayNotBeLookedAtLives: the holder is another user's, whom no signal of ours reaches.
func TestAProcessThatMayNotBeLookedAtLives(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be two users")
	}
	dir, err := os.MkdirTemp("/tmp", "lock") //nolint:usetesting // another user has to get there
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777))
	s := open(t, dir, dirstore.Options{})
	g, err := storelock.Acquire(t.Context(), s, storelock.Options{Exclusive: true})
	must(t, err)
	other := helperproc.StartWith(t, helperproc.Options{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Dir: "/"}, "ask", dir)
	if line := other.Line(); !strings.Contains(line, "held exclusively") || strings.Contains(line, "dead") {
		t.Errorf("%s", line)
	}
	must(t, g.Check(t.Context()))
	must(t, g.Close())
	if entries, err := os.ReadDir(filepath.Join(dir, "locks")); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}
