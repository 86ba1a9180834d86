package chunkstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func TestWritersShareTheLockAndKeepARemoverOut(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	s := openStore(t, root, nil)
	p := helperproc.Start(t, "lock", root.Name())
	p.WaitReady()
	mine, err := s.LockShared(t.Context(), flock.Wait{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LockExclusive(t.Context(), flock.Wait{}); !errors.Is(err, flock.ErrLocked) {
		t.Errorf("exclusive beside two shared: %v", err)
	}
	if err := mine.Close(); err != nil {
		t.Error(err)
	}
	_, err = s.LockExclusive(t.Context(), flock.Wait{})
	locked, ok := errors.AsType[*flock.LockedError](err)
	if !ok || len(locked.Holders) != 1 || locked.Holders[0].PID != p.PID {
		t.Errorf("exclusive beside the other process: %v", err)
	}
	p.Kill()
	guard, err := s.LockExclusive(t.Context(), flock.Wait{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LockShared(t.Context(), flock.Wait{}); !errors.Is(err, flock.ErrLocked) {
		t.Errorf("shared beside exclusive: %v", err)
	}
	if err := guard.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheLockFileIsMadeOnceWithItsMode(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	for script := range fsoptest.Failures(t, unix.EACCES) {
		root := newRoot(t)
		path := filepath.Join(root.Name(), lockName)
		guard, err := openStore(t, root, script.Disk()).LockShared(t.Context(), flock.Wait{})
		guard.Close()
		if script.Injected() && err != nil && !errors.Is(err, unix.EACCES) {
			t.Errorf("error %v", err)
		}
		info, statErr := os.Lstat(path)
		if err == nil && (statErr != nil || info.Mode() != 0o644 || info.Size() != 0) {
			t.Errorf("%v, %v", info, statErr)
		}
		// And there is always a way on.
		again, err := openStore(t, root, nil).LockExclusive(t.Context(), flock.Wait{})
		if err != nil {
			t.Error(err)
		}
		again.Close()
	}
}

func TestALockFileThatIsThereIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	path := filepath.Join(root.Name(), lockName)
	if err := os.WriteFile(path, []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
	script := fsoptest.Record()
	guard, err := openStore(t, root, script.Disk()).LockShared(t.Context(), flock.Wait{})
	if err != nil {
		t.Fatal(err)
	}
	guard.Close()
	if len(script.Changes()) > 0 {
		t.Errorf("changes %v", script.Changes())
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}
