package datastore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// raceStore has a snapshot whose chunks are all that a next one needs, and a chunk
// that only a crashed backup wrote.
func raceStore(t *testing.T) *testds.Store {
	t.Helper()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:5M"))
	store.Backup("vm/300", first, image(t, "xs64:3:100000"))
	w, err := store.Open(datastore.Options{}).Backup(t.Context(), store.Group("vm/200"), datastore.BackupOptions{Time: first})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(testds.Fill(t.Context(), w, image(t, "xs64:2:5M")), w.Close()); err != nil {
		t.Fatal(err)
	}
	return store
}

// TestNoBackupAndNoRemovalCanRobASnapshotDuringACollection stops a collection at
// each of its changes, lets backups and removals come, and lets it go on.
func TestNoBackupAndNoRemovalCanRobASnapshotDuringACollection(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		t.Run(fmt.Sprint("at change ", n), func(t *testing.T) {
			t.Parallel()
			store := raceStore(t)
			gc := operation{name: "collect"}.start(t, store, fmt.Sprintf("pause-before-%d", n))
			line := gc.Line()
			if line == "done" {
				return // it has not so many changes
			}
			if !strings.HasPrefix(line, "at ") {
				t.Fatal(line)
			}
			ds := store.Open(datastore.Options{})
			for _, group := range []string{"vm/100", "vm/200", "vm/400"} {
				// The second has its data in chunks that are about to go.
				if _, err := testds.Backup(t.Context(), ds, store.Group(group), second, image(t, "xs64:2:5M")); !errors.Is(err, flock.ErrLocked) {
					t.Errorf("backup of %s: %v", group, err)
				}
			}
			for round := range 3 {
				if _, err := ds.RemoveSnapshot(t.Context(), backupinfo.Snapshot{Group: store.Group("vm/300"), Time: first}, datastore.RemoveOptions{}); err != nil && (round == 0 || !errors.Is(err, datastore.ErrNotFound)) {
					t.Error(err)
				}
			}
			gc.Send("go on")
			gc.Expect("done")
			for _, group := range []string{"vm/100", "vm/200", "vm/300"} {
				store.Backup(group, second, image(t, "xs64:2:5M"))
			}
			if got := store.Finished(); len(got) != 4 {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestChunksOfACrashedBackupAreThereForTheNextTry collects between a crash and the next backup.
func TestChunksOfACrashedBackupAreThereForTheNextTry(t *testing.T) {
	t.Parallel()
	store := raceStore(t)
	report := collect(t, store, datastore.CollectOptions{})
	if report.RemovedChunks != 0 || report.PendingChunks != 2 {
		t.Errorf("%+v", report)
	}
	store.Backup("vm/200", second, image(t, "xs64:2:5M"))
	if after := collect(t, store, nothing); after.RemovedChunks != 0 || after.PendingChunks != 0 {
		t.Errorf("%+v", after)
	}
}

// TestCollectionsGoOnWhileSnapshotsVanish removes snapshots and groups all the time.
func TestCollectionsGoOnWhileSnapshotsVanish(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Leftovers = true // a sweep passes over what another process dismantles
	store.Backup("vm/1", first, image(t, "xs64:1:100000"))
	for i := range 30 {
		store.Backup(fmt.Sprint("ct/", i), first, []byte{byte(i)})
		store.Backup(fmt.Sprint("ct/", i), second, []byte{byte(i)})
	}
	ds := store.Open(datastore.Options{})
	removed := make(chan error, 1)
	go func() {
		var failed error
		for i := range 30 {
			_, err := ds.RemoveSnapshot(t.Context(), backupinfo.Snapshot{Group: store.Group(fmt.Sprint("ct/", i)), Time: first}, datastore.RemoveOptions{})
			_, err2 := ds.RemoveGroup(t.Context(), store.Group(fmt.Sprint("ct/", i)), datastore.RemoveGroupOptions{})
			failed = errors.Join(failed, err, err2)
		}
		removed <- failed
	}()
	for {
		if _, err := ds.Collect(t.Context(), nothing); err != nil {
			t.Error(err)
		}
		select {
		case err := <-removed:
			if err != nil {
				t.Error(err)
			}
			if report := collect(t, store, nothing); report.DiskChunks != 1 || report.IndexFiles != 1 {
				t.Errorf("%+v", report)
			}
			return
		default:
		}
	}
}
