package datastore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func ownerOf(t *testing.T, ds *datastore.Datastore, group backupinfo.Group) backupinfo.AuthID {
	t.Helper()
	info, err := ds.Group(t.Context(), group)
	if err != nil || info.Err != nil {
		t.Errorf("%v, %v", err, info.Err)
	}
	return info.Owner
}

func TestAGroupChangesItsOwner(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	group := store.Backup("vm/100", first, []byte("x")).Group
	ds := store.Open(datastore.Options{})
	change := func(to, expected backupinfo.AuthID) error {
		return ds.ChangeOwner(t.Context(), group, to, datastore.ChangeOwnerOptions{Expected: expected})
	}
	if err := change("a@pam", "b@pam"); !errors.Is(err, datastore.ErrNotOwner) || ownerOf(t, ds, group) != backupinfo.DefaultOwner {
		t.Error(err)
	}
	for _, to := range []backupinfo.AuthID{"a@pam", "a@pam", "b@pbs!token"} {
		if err := change(to, ""); err != nil || ownerOf(t, ds, group) != to {
			t.Errorf("%s: %v", to, err)
		}
	}
	for _, bad := range []backupinfo.AuthID{"", "nobody", "a@pam\nroot@pam"} {
		if err := change(bad, ""); err == nil {
			t.Errorf("took %q", bad)
		}
	}
	put(t, filepath.Join(store.Dir, "vm/100/owner"), "garbage")
	if err := change("a@pam", "garbage@pam"); err == nil {
		t.Error("who can't be read was taken for the expected one")
	}
	if err := change("a@pam", ""); err != nil || ownerOf(t, ds, group) != "a@pam" {
		t.Error(err)
	}
	info, err := os.Stat(filepath.Join(store.Dir, "vm/100/owner"))
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if err := ds.ChangeOwner(t.Context(), store.Group("vm/999"), "a@pam", datastore.ChangeOwnerOptions{}); !errors.Is(err, datastore.ErrNotFound) {
		t.Error(err)
	}
}

// Two at once change the owner there and back, 1,000 times each: a change happens
// or is told that the owner changed, and a reader always finds one of the two.
func TestTwoWhoChangeTheOwnerAtOnceNeverLoseIt(t *testing.T) {
	t.Parallel()
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	store := testds.New(t)
	group := store.Backup("vm/100", first, []byte("x")).Group
	const a, b = backupinfo.AuthID("a@pam"), backupinfo.AuthID("b@pam")
	if err := store.Open(datastore.Options{}).ChangeOwner(t.Context(), group, a, datastore.ChangeOwnerOptions{}); err != nil {
		t.Fatal(err)
	}
	var changes, running atomic.Int64
	running.Store(2)
	var all errgroup.Group
	contender := func(from, to backupinfo.AuthID) {
		all.Go(func() error {
			defer running.Add(-1)
			ds := store.Open(datastore.Options{LockWait: time.Minute})
			for range rounds {
				err := ds.ChangeOwner(t.Context(), group, to, datastore.ChangeOwnerOptions{Expected: from})
				if err == nil {
					changes.Add(1)
				} else if !errors.Is(err, datastore.ErrNotOwner) {
					return err
				}
			}
			return nil
		})
	}
	contender(a, b)
	contender(b, a)
	all.Go(func() error {
		for running.Load() > 0 {
			text, err := os.ReadFile(filepath.Join(store.Dir, "vm/100/owner"))
			if owner := backupinfo.AuthID(text); err != nil || owner != a+"\n" && owner != b+"\n" {
				return fmt.Errorf("owner file %q: %w", text, err)
			}
		}
		return nil
	})
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	want := a
	if changes.Load()%2 == 1 {
		want = b
	}
	if got := ownerOf(t, store.Open(datastore.Options{}), group); got != want || changes.Load() == 0 {
		t.Errorf("%s after %d changes", got, changes.Load())
	}
}

func TestTheOwnerOfAGroupInUseStays(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	group := store.Backup("vm/100", first, []byte("x")).Group
	ds := store.Open(datastore.Options{})
	w, err := ds.Backup(t.Context(), group, datastore.BackupOptions{Time: second})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := ds.ChangeOwner(t.Context(), group, "a@pam", datastore.ChangeOwnerOptions{}); !errors.Is(err, flock.ErrLocked) {
		t.Error(err)
	}
	if err := ds.SetNotes(t.Context(), object(t, "vm/100"), "x"); !errors.Is(err, flock.ErrLocked) {
		t.Error(err)
	}
}
