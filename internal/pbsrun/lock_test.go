package pbsrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

const groupLock = "vm-100"

func mustLock(t testing.TB, store *Store, name string, mode flock.Mode) *Lock {
	t.Helper()
	lock, err := store.Lock(name, mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	return lock
}

func TestOurLocksAndTheServersExcludeEachOther(t *testing.T) {
	t.Parallel()
	for _, ours := range []flock.Mode{flock.Shared, flock.Exclusive} {
		for _, theirs := range []string{"shared", "exclusive"} {
			t.Run(fmt.Sprint(ours, " and ", theirs), func(t *testing.T) {
				t.Parallel()
				store, run := testStore(t)
				fits := ours == flock.Shared && theirs == "shared"
				path := filepath.Join(run, "locks/STORE", groupLock)
				lock := mustLock(t, store, groupLock, ours)
				if got := helperproc.Start(t, "server lock", path, theirs).Line(); (got == "ready") != fits {
					t.Errorf("the server, after us: %q", got)
				}
				if err := lock.Close(); err != nil {
					t.Fatal(err)
				}
				server := helperproc.Start(t, "server lock", path, "exclusive")
				if !fits {
					server.WaitReady()
					server.Stop()
					_, err := store.Lock(groupLock, ours)
					if !errors.Is(err, flock.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("pid ", server.PID)) {
						t.Errorf("we, after the server: %v", err)
					}
					server.Kill()
					mustLock(t, store, groupLock, ours)
				}
			})
		}
	}
}

// TestARemovedLockFileLocksNothing: who waited for the file that is gone gets the new one.
func TestARemovedLockFileLocksNothing(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	path := filepath.Join(run, "locks/STORE", groupLock)
	first := mustLock(t, store, groupLock, flock.Exclusive)
	if err := errors.Join(first.Remove(), first.Remove()); err != nil {
		t.Fatal(err)
	}
	second := mustLock(t, store, groupLock, flock.Exclusive)
	if _, err := store.Lock(groupLock, flock.Shared); !errors.Is(err, flock.ErrLocked) {
		t.Errorf("the new file is not locked: %v", err)
	}
	if err := errors.Join(first.Close(), first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("a released lock took its file away, which a server may just have opened")
	}
}

// roleLockAndRemove is one of many that lock, remove and release the same file as fast as they can.
func roleLockAndRemove(_ context.Context, args []string, c *helperproc.IO) error {
	store := storeAt(args[0], uint32(os.Geteuid()))
	inside := filepath.Join(args[0], "inside")
	for range 300 {
		lock, err := store.Lock(groupLock, flock.Exclusive)
		if errors.Is(err, flock.ErrLocked) {
			continue
		}
		if err != nil {
			return err
		}
		f, err := os.OpenFile(inside, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("two have the lock: %w", err)
		}
		if err := errors.Join(f.Close(), os.Remove(inside), lock.Remove(), lock.Close()); err != nil {
			return err
		}
	}
	c.Say("done")
	return nil
}

func TestOnlyOneHasALockThatIsAlwaysRemoved(t *testing.T) {
	t.Parallel()
	run := filepath.Join(t.TempDir(), "run")
	var processes []*helperproc.Proc
	for range 4 {
		processes = append(processes, helperproc.Start(t, "lock and remove", run))
	}
	for _, p := range processes {
		p.Expect("done")
	}
}

func TestThousandsOfLocksLeaveNoFilesBehind(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	for i := range 2000 {
		lock := mustLock(t, store, LockName("a/b", fmt.Sprint("vm/", i)), flock.Exclusive)
		if err := errors.Join(lock.Remove(), lock.Close()); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(run, "locks/STORE/a:b"))
	if err != nil || len(entries) != 0 {
		t.Errorf("%v, %d files", err, len(entries))
	}
}

func TestWhatIsNoLockFileIsNotLocked(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	mustLock(t, store, "there", flock.Shared)
	dir := filepath.Join(run, "locks/STORE")
	for name, plant := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"pipe":      func(path string) error { return unix.Mkfifo(path, 0o644) },
		"link":      func(path string) error { return os.Symlink("there", path) },
	} {
		if err := plant(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if lock, err := store.Lock(name, flock.Exclusive); err == nil || errors.Is(err, flock.ErrLocked) {
			t.Errorf("%s: %v, %v", name, lock, err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Lock("linked/x", flock.Exclusive); err == nil {
		t.Error("a directory behind a link")
	}
}

// roleFewInodes has a file system to itself on which there is room for few files.
func roleFewInodes(_ context.Context, args []string, c *helperproc.IO) error {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("few", args[0], "tmpfs", 0, "nr_inodes=20")
	}
	if err != nil {
		c.Say(fmt.Sprintf("needs a file system of its own: %v", err))
		return nil
	}
	store := storeAt(filepath.Join(args[0], "run"), uint32(os.Geteuid()))
	for i := range 30 {
		if _, err = store.Lock(fmt.Sprint("vm-", i), flock.Exclusive); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.ENOSPC) || errors.Is(err, flock.ErrLocked) {
		return fmt.Errorf("without room for one more file: %w", err)
	}
	c.Say("no space")
	return nil
}

func TestAFullDirectoryOfLocksIsCalledFull(t *testing.T) {
	t.Parallel()
	own := helperproc.Options{Cloneflags: unix.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a file system of its own")
	}
	p := helperproc.StartWith(t, own, "few inodes", t.TempDir())
	if line := p.Line(); line != "no space" {
		t.Skip(line)
	}
}

func TestALockFileThatMayNotBeMadeIsNotCalledLocked(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	mustLock(t, store, "there", flock.Shared)
	if os.Geteuid() == 0 {
		t.Skip("permissions don't stop root")
	}
	dir := filepath.Join(run, "locks/STORE")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if _, err := store.Lock("new", flock.Exclusive); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
}

func TestTheLockFileOfWhatIsGoneIsDiscarded(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	lock := mustLock(t, store, groupLock, flock.Shared)
	path := filepath.Join(run, "locks/STORE", groupLock)
	if err := errors.Join(store.Discard("a:b/vm-1"), store.Discard(groupLock+"/x"), store.Discard(groupLock)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("somebody's lock file is gone")
	}
	if _, err := os.Stat(filepath.Dir(path) + "/a:b"); err == nil {
		t.Error("a directory was made for what is not there")
	}
	if err := errors.Join(lock.Close(), store.Discard(groupLock)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the lock file is still there")
	}
}

func TestEmptyDirectoriesOfOldLocksGo(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	const snapshot = "ns/a/vm/1/2022-05-02T08:11:33Z"
	lock := mustLock(t, store, OldManifestLockName(snapshot), flock.Exclusive)
	dir := filepath.Join(run, "locks/STORE", snapshot)
	if err := errors.Join(store.RemoveOldDirectory(snapshot), store.RemoveOldDirectory("vm/2"), store.RemoveOldDirectory("ns/b/vm/2")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if err := errors.Join(lock.Remove(), lock.Close(), store.RemoveOldDirectory(snapshot), store.RemoveOldDirectory(filepath.Dir(snapshot))); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err == nil {
		t.Error("still there")
	}
}
