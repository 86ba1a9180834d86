package mount_test

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/mount"
	"github.com/pbs-like/pbs-like/storelock"
)

func TestASharedStoreIsLockedForOtherHostsToo(t *testing.T) {
	t.Parallel()
	needFUSE(t)
	store, snapshot := twoSnapshots(t)
	share := datastore.SetLockSchemeOptions{Test: storelock.SelfTestOptions{Rounds: 1}}
	if _, err := store.Open(datastore.Options{}).SetLockScheme(t.Context(), datastore.LockShared, share); err != nil {
		t.Fatal(err)
	}
	ds := store.Open(datastore.Options{HostID: "first"})
	point, _ := mounted(t, ds, mount.Options{Idle: 200 * time.Millisecond})
	if _, err := os.ReadFile(imageOf(point, snapshot)); err != nil {
		t.Fatal(err)
	}
	other := snapshot
	other.Time = newer // a lease is for all snapshots of a group
	second := store.Open(datastore.Options{HostID: "second"})
	if _, err := second.RemoveSnapshot(t.Context(), other, datastore.RemoveOptions{}); !errors.Is(err, flock.ErrLocked) {
		t.Error("removal by another host:", err)
	}
	eventually(t, "the lease is given back", func() bool {
		locks, err := ds.StoreLocks(t.Context())
		return err == nil && len(locks) == 0
	})
}

// TestWhoLosesItsLeaseReadsNoMore stops a host for longer than its lease lasts, while another one takes it over. It runs
// alone: a program that another test starts meanwhile would hang until the stopped mount answers that the file it inherits is closed.
func TestWhoLosesItsLeaseReadsNoMore(t *testing.T) { //nolint:paralleltest // see above
	needFUSE(t)
	store, snapshot := twoSnapshots(t)
	share := datastore.SetLockSchemeOptions{Stale: time.Second, Test: storelock.SelfTestOptions{Rounds: 1}}
	if _, err := store.Open(datastore.Options{}).SetLockScheme(t.Context(), datastore.LockShared, share); err != nil {
		t.Fatal(err)
	}
	point := t.TempDir()
	server := helperproc.Start(t, "mount", store.Dir, point, "first")
	server.WaitReady()
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) })
	f, err := os.Open(imageOf(point, snapshot))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadAt(make([]byte, 100), 0); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	other := snapshot
	other.Time = newer
	second := store.Open(datastore.Options{HostID: "second", LeaseOnly: true, LockWait: time.Minute, LockMemory: t.TempDir()})
	if _, err := second.RemoveSnapshot(t.Context(), other, datastore.RemoveOptions{}); err != nil {
		t.Error("removal after the lease is over:", err)
	}
	server.Continue()
	far := int64(5_000_000)
	eventually(t, "reading ends", func() bool {
		_, err := f.ReadAt(make([]byte, 100), far)
		if far += 200_000; far > 9_000_000 {
			far = 5_000_001
		}
		if err != nil && !errors.Is(err, io.EOF) && !isErrno(err, unix.ESTALE) {
			t.Fatal(err)
		}
		return isErrno(err, unix.ESTALE)
	})
	if _, err := os.ReadFile(imageOf(point, snapshot)); err != nil {
		t.Error("opened anew:", err)
	}
	f.Close()
	server.Send("end")
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}
