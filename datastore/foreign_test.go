package datastore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// holdRecord holds a classic POSIX record lock, as a Proxmox Backup Server does on .lock.
func holdRecord(_ context.Context, args []string, pipe *helperproc.IO) error {
	fd, err := unix.Open(args[0], unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	lock := unix.Flock_t{Type: unix.F_RDLCK}
	if args[1] == "exclusive" {
		lock.Type = unix.F_WRLCK
	}
	switch err := unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &lock); {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		pipe.Say("refused")
	case err != nil:
		return err
	default:
		pipe.Ready()
	}
	_, err = pipe.Next()
	return err
}

func TestTheServersLockOnTheStoreIsHonouredAndOursByIt(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	lockFile := filepath.Join(store.Dir, ".lock")
	ds := store.Open(datastore.Options{})

	collection := helperproc.Start(t, "hold record", lockFile, "exclusive")
	collection.WaitReady()
	_, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{})
	var locked *flock.LockedError
	if !errors.Is(err, flock.ErrLocked) || !errors.As(err, &locked) || len(locked.Holders) != 1 || locked.Holders[0].PID != collection.PID {
		t.Errorf("beside a collection: %v", err)
	}
	collection.Kill()

	writer := helperproc.Start(t, "hold record", lockFile, "shared")
	writer.WaitReady()
	w, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{})
	if err != nil {
		t.Fatalf("beside another writer: %v", err)
	}
	defer w.Close()
	writer.Kill()

	// Opening and closing the file elsewhere in this process must not free the lock.
	if got := store.Snapshots(); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if other, err := ds.Backup(t.Context(), store.Group("vm/200"), datastore.BackupOptions{}); err != nil || other.Close() != nil {
		t.Errorf("a second writer: %v", err)
	}
	helperproc.Start(t, "hold record", lockFile, "exclusive").Expect("refused")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	helperproc.Start(t, "hold record", lockFile, "exclusive").WaitReady()
}

func TestAForeignHolderOfADirectoryIsHonouredAndNamed(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("flock(1) of util-linux is not installed")
	}
	store := testds.New(t)
	base := store.Backup("vm/100", first, []byte("x"))
	ds := store.Open(datastore.Options{})
	for what, test := range map[string]struct {
		path string
		try  func() error
	}{
		"the snapshot": {base.Dir(), func() error {
			_, err := ds.RemoveSnapshot(t.Context(), base, datastore.RemoveOptions{})
			return err
		}},
		"the group": {base.Group.Dir(), func() error {
			_, err := ds.RemoveGroup(t.Context(), base.Group, datastore.RemoveGroupOptions{})
			return err
		}},
		"the group, for a backup": {base.Group.Dir(), func() error {
			_, err := ds.Backup(t.Context(), base.Group, datastore.BackupOptions{Time: second})
			return err
		}},
	} {
		release := holdWithFlock(t, filepath.Join(store.Dir, test.path))
		var locked *flock.LockedError
		if err := test.try(); !errors.As(err, &locked) || len(locked.Holders) == 0 || locked.Holders[0].Command == "" {
			t.Errorf("%s is held: %v", what, err)
		}
		release()
	}
	if got := store.Snapshots(); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// holdWithFlock lets flock(1) hold a directory until the function that it gives is called.
func holdWithFlock(t *testing.T, dir string) (release func()) {
	t.Helper()
	cmd := exec.Command("flock", "--exclusive", "--nonblock", dir, "sh", "-c", "echo held; cat")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("flock(1) says %q, %v", line, err)
	}
	return func() {
		if err := errors.Join(input.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEmptyGroupIsKeptWhileSomebodyHoldsIt(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	only := store.Backup("vm/100", first, []byte("x"))
	guard, err := flock.TryExclusive(flock.Ref{Name: filepath.Join(store.Dir, "vm/100")})
	if err != nil {
		t.Fatal(err)
	}
	var notices []string
	ds := store.Open(datastore.Options{Events: datastore.Events{Notice: func(n datastore.Notice) { notices = append(notices, n.Text) }}})
	report, err := ds.RemoveSnapshot(t.Context(), only, datastore.RemoveOptions{})
	if err != nil || len(report.Snapshots) != 1 || len(report.Groups) != 0 || len(notices) != 1 {
		t.Errorf("%+v, %v, %q", report, err, notices)
	}
	if err := guard.Close(); err != nil {
		t.Fatal(err)
	}
	// Another owner's backup finds the group of the old one, and the empty group can be removed.
	if _, err := ds.RemoveGroup(t.Context(), only.Group, datastore.RemoveGroupOptions{}); err != nil {
		t.Error(err)
	}
}

// TestWhereLocksFailNothingIsChanged has a kernel that has no locks left. Who reads goes
// on; who changes something says so, as another thing than that somebody holds a lock,
// and leaves all as it is.
func TestWhereLocksFailNothingIsChanged(t *testing.T) {
	t.Parallel()
	store := matrixStore(t)
	before := inodes(t, store.Dir)
	for name, o := range starting {
		line := o.start(t, store, "no locks record").Line()
		switch {
		case name == "remove the new": // which is not there
		case o.name == "restore" && line == "done":
		case o.name == "restore", !strings.HasPrefix(line, "error: "), !strings.Contains(line, unix.ENOLCK.Error()), strings.Contains(line, "in use"):
			t.Errorf("%s: %s", name, line)
		}
	}
	if after := inodes(t, store.Dir); !slices.Equal(before, after) {
		t.Errorf("changed: %v, before: %v", after, before)
	}
}

// inodes are all files below a directory, each with what tells that it is still the same.
func inodes(t testing.TB, dir string) (list []string) {
	t.Helper()
	eachFile(t, dir, func(path string, st *unix.Stat_t) {
		list = append(list, fmt.Sprint(path, st.Ino, st.Size, st.Mtim, st.Ctim))
	})
	return list
}
