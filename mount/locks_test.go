package mount_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/mount"
)

const (
	older = backupinfo.Time(1_700_000_000)
	newer = backupinfo.Time(1_700_000_100)
)

// twoSnapshots is a store with two snapshots of vm/100; the older one is what tests are about.
func twoSnapshots(t testing.TB) (*testds.Store, backupinfo.Snapshot) {
	t.Helper()
	store := testds.New(t)
	snapshot := store.Backup("vm/100", older, bytes.Repeat([]byte("older"), 2_000_000))
	store.Backup("vm/100", newer, []byte("newer"))
	return store, snapshot
}

func imageOf(point string, s backupinfo.Snapshot) string {
	return filepath.Join(point, s.Dir(), testds.ImageName)
}

// TestAnIdleMountHoldsNothingInTheStore also tries what a lock or a descriptor would prevent.
func TestAnIdleMountHoldsNothingInTheStore(t *testing.T) {
	t.Parallel()
	store, snapshot := twoSnapshots(t)
	ds := store.Open(datastore.Options{})
	point, _ := mounted(t, ds, mount.Options{Idle: 300 * time.Millisecond})
	if open := below(t, store.Dir); len(open) > 0 {
		t.Error("before anything is used:", open)
	}
	if _, err := os.ReadFile(imageOf(point, snapshot)); err != nil {
		t.Fatal(err)
	}
	if open := below(t, store.Dir); len(open) == 0 {
		t.Error("a snapshot that was just used is not open")
	}
	if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); !errors.Is(err, flock.ErrLocked) {
		t.Error("removal of a snapshot that was just used:", err)
	}
	eventually(t, "the snapshot is closed", func() bool { return len(below(t, store.Dir)) == 0 })
	if _, err := os.ReadFile(filepath.Join(point, "nothing")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a name that is not there:", err)
	}
	if open := below(t, store.Dir); len(open) > 0 {
		t.Error("after an error:", open)
	}
	if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); err != nil {
		t.Error("removal of a snapshot that nobody uses:", err)
	}
}

// TestAnIdleStoreCanBeUnmountedAndComesBack does it with a file system of its own.
func TestAnIdleStoreCanBeUnmountedAndComesBack(t *testing.T) {
	t.Parallel()
	needFUSE(t)
	needProgram(t, "mkfs.ext4", "mount", "umount", "losetup")
	dir := t.TempDir()
	disk, at := filepath.Join(dir, "disk"), filepath.Join(dir, "store")
	if err := os.WriteFile(disk, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Truncate(disk, 64<<20), os.Mkdir(at, 0o755)); err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", "-q", disk)
	run(t, "mount", "-o", "loop", disk, at)
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	inside := filepath.Join(at, "ds")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	store := testds.At(t, inside)
	ds := store.Open(datastore.Options{})
	snapshot := store.Backup("vm/100", older, []byte("image"))
	point, _ := mounted(t, ds, mount.Options{Idle: 100 * time.Millisecond})
	read := func() error {
		data, err := os.ReadFile(imageOf(point, snapshot))
		if err == nil && string(data) != "image" {
			t.Errorf("the image is %q", data)
		}
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the store can be unmounted", func() bool { return unix.Unmount(at, 0) == nil })
	if err := read(); err == nil {
		t.Error("a store that is not mounted can be read")
	}
	run(t, "mount", "-o", "loop", disk, at)
	if err := read(); err != nil {
		t.Error("after the store was mounted again:", err)
	}
}

// TestWhileAMountUsesASnapshot is the table of what others may do meanwhile.
func TestWhileAMountUsesASnapshot(t *testing.T) {
	t.Parallel()
	uses := map[string]func(t *testing.T, point string, s backupinfo.Snapshot) io.Closer{
		"a file is open": func(t *testing.T, point string, s backupinfo.Snapshot) io.Closer {
			t.Helper()
			f, err := os.Open(imageOf(point, s))
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		"a file was read and closed": func(t *testing.T, point string, s backupinfo.Snapshot) io.Closer {
			t.Helper()
			if _, err := os.ReadFile(imageOf(point, s)); err != nil {
				t.Fatal(err)
			}
			return io.NopCloser(nil)
		},
	}
	others := map[string]struct {
		do      func(t *testing.T, store *testds.Store, ds *datastore.Datastore, s backupinfo.Snapshot) error
		refused bool
	}{
		"remove the snapshot": {func(t *testing.T, _ *testds.Store, ds *datastore.Datastore, s backupinfo.Snapshot) error {
			t.Helper()
			_, err := ds.RemoveSnapshot(t.Context(), s, datastore.RemoveOptions{})
			return err
		}, true},
		"remove the group": {func(t *testing.T, _ *testds.Store, ds *datastore.Datastore, s backupinfo.Snapshot) error {
			t.Helper()
			_, err := ds.RemoveGroup(t.Context(), s.Group, datastore.RemoveGroupOptions{})
			return err
		}, true},
		"protect the snapshot": {func(t *testing.T, _ *testds.Store, ds *datastore.Datastore, s backupinfo.Snapshot) error {
			t.Helper()
			_, err := ds.Protect(t.Context(), s, datastore.ProtectOptions{})
			return err
		}, true},
		"move the group": {func(t *testing.T, _ *testds.Store, ds *datastore.Datastore, s backupinfo.Snapshot) error {
			t.Helper()
			ns, err := backupinfo.ParseNamespace("other")
			if err != nil {
				return err
			}
			if err := ds.CreateNamespace(t.Context(), ns, datastore.CreateNamespaceOptions{}); err != nil {
				return err
			}
			_, err = ds.MoveGroup(t.Context(), s.Group, ns, datastore.MoveOptions{})
			return err
		}, true},
		"remove another snapshot": {func(t *testing.T, _ *testds.Store, ds *datastore.Datastore, s backupinfo.Snapshot) error {
			t.Helper()
			s.Time = newer
			_, err := ds.RemoveSnapshot(t.Context(), s, datastore.RemoveOptions{})
			return err
		}, false},
		"restore it": {func(t *testing.T, store *testds.Store, _ *datastore.Datastore, s backupinfo.Snapshot) error {
			t.Helper()
			store.Restore(s, testds.ImageName)
			return nil
		}, false},
		"verify it": {func(t *testing.T, _ *testds.Store, ds *datastore.Datastore, _ backupinfo.Snapshot) error {
			t.Helper()
			_, err := ds.Verify(t.Context(), datastore.VerifyOptions{})
			return err
		}, false},
		"note on it": {func(t *testing.T, _ *testds.Store, ds *datastore.Datastore, s backupinfo.Snapshot) error {
			t.Helper()
			return ds.SetNotes(t.Context(), backupinfo.Object{Group: s.Group, Time: s.Time, IsSnapshot: true}, "a note")
		}, false},
		"collect garbage": {func(t *testing.T, _ *testds.Store, ds *datastore.Datastore, _ backupinfo.Snapshot) error {
			t.Helper()
			_, err := ds.Collect(t.Context(), datastore.CollectOptions{Cutoff: datastore.NoCutoff})
			return err
		}, false},
		"back up": {func(t *testing.T, store *testds.Store, _ *datastore.Datastore, _ backupinfo.Snapshot) error {
			t.Helper()
			store.Backup("vm/100", newer+100, []byte("another"))
			return nil
		}, false},
	}
	for use, begin := range uses {
		for other, o := range others {
			t.Run(use+", and somebody wants to "+other, func(t *testing.T) {
				t.Parallel()
				store, snapshot := twoSnapshots(t)
				ds := store.Open(datastore.Options{})
				point, _ := mounted(t, ds, mount.Options{Idle: time.Hour})
				using := begin(t, point, snapshot)
				defer using.Close()
				err := o.do(t, store, ds, snapshot)
				if errors.Is(err, flock.ErrLocked) != o.refused || !o.refused && err != nil {
					t.Error(err)
				}
				want := store.Restore(snapshot, testds.ImageName)
				if got, err := os.ReadFile(imageOf(point, snapshot)); err != nil || !bytes.Equal(got, want) {
					t.Error("the image is not what it was:", err)
				}
			})
		}
	}
}

func TestWhatWasRemovedIsNeverShownAgain(t *testing.T) {
	t.Parallel()
	needFUSE(t)
	store, snapshot := twoSnapshots(t)
	remover := helperproc.Start(t, "remove", store.Dir)
	remover.WaitReady()
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Idle: 200 * time.Millisecond})
	image := imageOf(point, snapshot)
	before, err := os.Open(filepath.Dir(image)) // its descriptor stays, as that of a working directory
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	kept, err := unix.Open(image, unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(kept)
	if _, err := os.ReadFile(image); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another process can remove it", func() bool {
		remover.Send(snapshot.Dir())
		return remover.Line() == "ok"
	})
	for what, err := range map[string]error{
		"its name":     errOf(os.Lstat(filepath.Dir(image))),
		"its file":     errOf(os.Lstat(image)),
		"opening":      errOf(os.Open(image)),
		"its contents": errOf(os.ReadFile(image)),
	} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s of a removed snapshot: %v", what, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Fstatat(kept, "", &st, unix.AT_EMPTY_PATH); err != unix.ESTALE {
		t.Error("what was found in it before:", err)
	}
	if _, err := before.Stat(); !isErrno(err, unix.ESTALE) {
		t.Error("its directory, which was found before:", err)
	}
	if list := names(t, filepath.Dir(filepath.Dir(image))); len(list) != 1 {
		t.Error("the list of snapshots:", list)
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestAForcedRemovalEndsReading is about those who ask for no lock.
func TestAForcedRemovalEndsReading(t *testing.T) {
	t.Parallel()
	needFUSE(t)
	store, snapshot := twoSnapshots(t)
	remover := helperproc.Start(t, "remove", store.Dir)
	remover.WaitReady()
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Idle: time.Hour})
	f, err := os.Open(imageOf(point, snapshot))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadAt(make([]byte, 100), 0); err != nil {
		t.Fatal(err)
	}
	remover.Send("force " + snapshot.Dir())
	remover.Expect("ok")
	far := int64(5_000_000) // what was read already the kernel may give
	eventually(t, "reading ends", func() bool {
		_, err := f.ReadAt(make([]byte, 100), far)
		far += 300_000
		if err != nil && !isErrno(err, unix.ESTALE) && !errors.Is(err, io.EOF) {
			t.Fatal("a read of a snapshot that was removed by force:", err)
		}
		if errors.Is(err, io.EOF) {
			far = 5_000_001
		}
		return isErrno(err, unix.ESTALE)
	})
	if _, err := os.Stat(imageOf(point, snapshot)); !errors.Is(err, os.ErrNotExist) {
		t.Error("its name:", err)
	}
}

// TestAnotherSnapshotOfTheSameTimeIsAnotherOne removes one and puts one with other data in its place.
func TestAnotherSnapshotOfTheSameTimeIsAnotherOne(t *testing.T) {
	t.Parallel()
	needFUSE(t)
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	snapshot := store.Backup("vm/100", older, []byte("the first one"))
	point, _ := mounted(t, ds, mount.Options{Idle: 100 * time.Millisecond})
	image := imageOf(point, snapshot)
	kept, err := unix.Open(image, unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(kept)
	eventually(t, "it can be removed", func() bool {
		_, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{})
		return err == nil
	})
	store.Backup("vm/100", older, []byte("another"))
	if got, err := os.ReadFile(image); err != nil || string(got) != "another" {
		t.Errorf("the file is %q, %v", got, err)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(kept, "", &st, unix.AT_EMPTY_PATH); err != unix.ESTALE {
		t.Error("what was found in the first one:", err)
	}
}

func TestASnapshotThatIsHeldIsBusy(t *testing.T) {
	t.Parallel()
	store, snapshot := twoSnapshots(t)
	ds := store.Open(datastore.Options{})
	var told told
	point, _ := mounted(t, ds, mount.Options{Events: told.events()})
	held, err := ds.Hold(t.Context(), backupinfo.Object{Group: snapshot.Group, Time: snapshot.Time, IsSnapshot: true}, datastore.HoldOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := os.ReadFile(imageOf(point, snapshot)); !isErrno(err, syscall.EBUSY) {
		t.Error("a file:", err)
	}
	if _, err := os.ReadDir(filepath.Join(point, snapshot.Dir())); !isErrno(err, syscall.EBUSY) {
		t.Error("the directory:", err)
	}
	if !strings.Contains(told.text(), "is in use: locked exclusively by") {
		t.Error("what is told:", told.text())
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(imageOf(point, snapshot)); err != nil {
		t.Error("afterwards:", err)
	}
}

// TestWhatIsOpenStaysLockedHoweverLong takes the end of another snapshot's lock for the clock.
func TestWhatIsOpenStaysLockedHoweverLong(t *testing.T) {
	t.Parallel()
	store, snapshot := twoSnapshots(t)
	ds := store.Open(datastore.Options{})
	point, _ := mounted(t, ds, mount.Options{Idle: 50 * time.Millisecond})
	f, err := os.Open(imageOf(point, snapshot))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other := snapshot
	other.Time = newer
	if _, err := os.ReadFile(imageOf(point, other)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other one can be removed", func() bool {
		_, err := ds.RemoveSnapshot(t.Context(), other, datastore.RemoveOptions{})
		return err == nil
	})
	if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); !errors.Is(err, flock.ErrLocked) {
		t.Error("removal of what is open:", err)
	}
}
