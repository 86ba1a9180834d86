package datastore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// withoutStoreLocks is a disk on which nothing can be written for locks.
func withoutStoreLocks(errno unix.Errno) *fsop.Disk {
	return &fsop.Disk{Before: func(c fsop.Change) error {
		if strings.Contains(c.Path, "/.pbs-like-locks") {
			return errno
		}
		return nil
	}}
}

func TestWhoCannotTakeStoreLocksReadsAndChangesNothing(t *testing.T) {
	t.Parallel()
	for _, errno := range []unix.Errno{unix.EROFS, unix.EACCES, unix.ENOSPC, unix.EIO} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			snapshot := store.Backup("vm/100", first, []byte("x"))
			share(t, store, 0)
			var noticed []string
			ds := store.Open(datastore.Options{Disk: withoutStoreLocks(errno), Events: datastore.Events{
				Notice: func(n datastore.Notice) { noticed = append(noticed, n.Text) },
			}})
			reader, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
			if !strings.Contains(strings.Join(noticed, "\n"), "without its store lock") {
				t.Errorf("no notice: %q", noticed)
			}
			if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); !errors.Is(err, errno) {
				t.Errorf("removal: %v", err)
			}
			if _, err := testds.Backup(t.Context(), ds, snapshot.Group, second, []byte("y")); !errors.Is(err, errno) {
				t.Errorf("backup: %v", err)
			}
			if len(store.Finished()) != 1 {
				t.Error("changed")
			}
		})
	}
}

func TestACollectionOfASharedStoreKeepsWhatIsYoungerThanADay(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	share(t, store, 0)
	ds := store.Open(datastore.Options{})
	for _, cutoff := range []time.Duration{datastore.NoCutoff, time.Second, 24*time.Hour - 1} {
		if _, err := ds.Collect(t.Context(), datastore.CollectOptions{Cutoff: cutoff}); err == nil || !strings.Contains(err.Error(), "too short") {
			t.Errorf("%v: %v", cutoff, err)
		}
	}
	if _, err := ds.Collect(t.Context(), datastore.CollectOptions{Cutoff: 24 * time.Hour}); err != nil {
		t.Error(err)
	}
}
