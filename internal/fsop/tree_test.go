package fsop_test

import (
	ctx "context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

// grow makes a tree of a little of everything, with links out of it.
func grow(t testing.TB, dir *os.File) {
	t.Helper()
	root := dir.Name() + "/tree"
	for _, d := range []string{"/a/b/c", "/empty", "/d"} {
		must(t, os.MkdirAll(root+d, 0o700))
	}
	for i := range 3 {
		must(t, os.WriteFile(fmt.Sprintf("%s/a/b/%d", root, i), nil, 0o400))
	}
	must(t, os.MkdirAll(dir.Name()+"/outside", 0o700))
	must(t, os.WriteFile(dir.Name()+"/outside/keep", nil, 0o600))
	must(t, os.Symlink("../../outside", root+"/a/out"))
	must(t, os.Symlink("../outside/keep", root+"/keep"))
	must(t, os.Symlink("nowhere", root+"/dangling"))
	must(t, unix.Mkfifo(root+"/fifo", 0o600))
}

func wantOutside(t testing.TB, dir *os.File, rest ...string) {
	t.Helper()
	wantNames(t, dir, append([]string{"outside"}, rest...)...)
	wantNames(t, open(t, dir.Name()+"/outside"), "keep")
}

func TestRemoveTreeRemovesTheTreeAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	grow(t, dir)
	must(t, real.RemoveTree(t.Context(), dir, "tree"))
	wantOutside(t, dir)
	must(t, real.RemoveTree(t.Context(), dir, "tree"))

	must(t, os.Symlink("outside", dir.Name()+"/link"))
	put(t, dir, "file", "")
	must(t, real.RemoveTree(t.Context(), dir, "link"))
	must(t, real.RemoveTree(t.Context(), dir, "file"))
	wantOutside(t, dir)
}

func TestRemoveTreeCanBeTriedAgainAfterEachFailurePoint(t *testing.T) {
	for script := range fsoptest.Failures(t, unix.EIO) {
		dir := tempDir(t)
		grow(t, dir)
		fds := countFDs(t)
		if err := script.Disk().RemoveTree(t.Context(), dir, "tree"); err != nil {
			mustBeInjected(t, err)
		} else if script.Injected() {
			t.Error("the error was lost")
		}
		if got := countFDs(t); got > fds {
			t.Errorf("%d descriptors, %d before", got, fds)
		}
		must(t, real.RemoveTree(t.Context(), dir, "tree"))
		wantOutside(t, dir)
	}
}

func TestRemoveTreeTakesWhatVanishesAsDone(t *testing.T) {
	for script := range fsoptest.Failures(t, unix.ENOENT) {
		dir := tempDir(t)
		grow(t, dir)
		// What is said to be gone before it was removed is still there, so
		// the directory above can't be removed. What really is gone is fine.
		err := script.Disk().RemoveTree(t.Context(), dir, "tree")
		if err != nil && !errors.Is(err, unix.ENOTEMPTY) {
			t.Errorf("%v", err)
		}
	}
}

func TestRemoveTreeByManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	grow(t, dir)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := real.RemoveTree(t.Context(), dir, "tree"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantOutside(t, dir)
}

func TestRemoveTreeStopsWhenToldTo(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	grow(t, dir)
	stop, cancel := ctx.WithCancel(t.Context())
	disk := &fsop.Disk{Before: func(fsop.Change) error { cancel(); return nil }}
	if err := disk.RemoveTree(stop, dir, "tree"); !errors.Is(err, ctx.Canceled) {
		t.Errorf("%v", err)
	}
	wantOutside(t, dir, "tree")
}

// A directory that is being emptied is exchanged for a link to another, as an
// attacker would.
func TestRemoveTreeDoesNotFollowADirectoryThatBecomesALink(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	grow(t, dir)
	path := dir.Name() + "/tree/a"
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if _, err := os.Lstat(path + "/b"); err == nil && c.Op == fsop.OpRemove {
			must(t, os.Rename(path, dir.Name()+"/moved"))
			must(t, os.Symlink("../outside", path))
		}
		return nil
	}}
	must(t, disk.RemoveTree(t.Context(), dir, "tree"))
	must(t, real.RemoveTree(t.Context(), dir, "moved"))
	wantOutside(t, dir)
}

// deep makes a chain of directories that no path can name.
func deep(t testing.TB, dir *os.File, levels int) {
	t.Helper()
	fd, err := unix.Dup(int(dir.Fd()))
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(fd, "d", 0o700))
		next, err := unix.Openat(fd, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
}

// Not parallel: it counts descriptors.
func TestRemoveTreeHoldsFewDescriptorsOnADeepTree(t *testing.T) {
	dir := tempDir(t)
	const levels = 1200
	deep(t, dir, levels)
	fds, most := countFDs(t), 0
	changes := 0
	disk := &fsop.Disk{Before: func(fsop.Change) error {
		if changes++; changes%50 == 0 {
			most = max(most, countFDs(t))
		}
		return nil
	}}
	must(t, disk.RemoveTree(t.Context(), dir, "d"))
	wantNames(t, dir)
	if most-fds > 40 || changes < levels {
		t.Errorf("%d descriptors more than before, %d changes", most-fds, changes)
	}
	if got := countFDs(t); got > fds {
		t.Errorf("%d descriptors, %d before", got, fds)
	}
}

func TestRemoveTreeOfAHugeDirectory(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	must(t, os.Mkdir(dir.Name()+"/tree", 0o700))
	inner := open(t, dir.Name()+"/tree")
	for i := range 1200 {
		must(t, unix.Mknodat(int(inner.Fd()), fmt.Sprint(i), unix.S_IFREG|0o600, 0))
	}
	must(t, real.RemoveTree(t.Context(), dir, "tree"))
	wantNames(t, dir)
}

func TestRemoveTreeFailsOnWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := tempDir(t)
	must(t, os.MkdirAll(dir.Name()+"/tree/shut", 0o700))
	must(t, os.Chmod(dir.Name()+"/tree/shut", 0))
	if err := real.RemoveTree(t.Context(), dir, "tree"); !errors.Is(err, unix.EACCES) {
		t.Errorf("%v", err)
	}
}

// Mounts are made in a mount namespace that dies with the process.
func TestRemoveTreeRefusesMountPoints(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount")
	}
	if !isAgain() {
		again(t, "in a mount namespace", "^TestRemoveTreeRefusesMountPoints$", &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS})
		return
	}
	for _, kind := range []string{"bind", "tmpfs"} {
		dir := tempDir(t)
		grow(t, dir)
		point := dir.Name() + "/tree/d"
		if kind == "bind" {
			must(t, unix.Mount(dir.Name()+"/outside", point, "", unix.MS_BIND, ""))
		} else {
			must(t, unix.Mount("none", point, "tmpfs", 0, ""))
			must(t, os.WriteFile(point+"/keep", nil, 0o600))
		}
		if err := real.RemoveTree(t.Context(), dir, "tree"); !errors.Is(err, fsop.ErrMountPoint) {
			t.Errorf("%s inside the tree: %v", kind, err)
		}
		if err := real.RemoveTree(t.Context(), open(t, dir.Name()+"/tree"), "d"); !errors.Is(err, fsop.ErrMountPoint) {
			t.Errorf("%s as the tree: %v", kind, err)
		}
		wantNames(t, open(t, point), "keep")
		must(t, unix.Unmount(point, unix.MNT_DETACH))
	}
}
