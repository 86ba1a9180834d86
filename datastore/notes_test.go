package datastore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func object(t *testing.T, name string) backupinfo.Object {
	t.Helper()
	o, err := backupinfo.ParseObject(backupinfo.Namespace{}, name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func notes(t *testing.T, ds *datastore.Datastore, name string) string {
	t.Helper()
	text, err := ds.Notes(t.Context(), object(t, name))
	if err != nil {
		t.Error(err)
	}
	return text
}

func TestNotesOfSnapshotsAndGroups(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	ds := store.Open(datastore.Options{})
	for _, name := range []string{"vm/100", one.Dir()} {
		for _, text := range []string{"first line\nsecond ü\n", "", "again", "again"} {
			if err := ds.SetNotes(t.Context(), object(t, name), text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := notes(t, ds, name); got != text {
				t.Errorf("%s: %q, want %q", name, got, text)
			}
		}
		for _, text := range []string{"\xff", strings.Repeat("x", 1<<20+1)} {
			if err := ds.SetNotes(t.Context(), object(t, name), text); err == nil {
				t.Errorf("%s took notes that can't be kept", name)
			}
		}
	}
	if got := store.Snapshots()[0]; got.Comment != "again" || got.Err != nil {
		t.Errorf("%+v", got)
	}
	if err := ds.SetNotes(t.Context(), object(t, "vm/100"), ""); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(store.Dir, "vm/100/notes")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, name := range []string{"vm/999", "vm/999/" + first.String(), "vm/100/" + second.String()} {
		if err := ds.SetNotes(t.Context(), object(t, name), "x"); !errors.Is(err, datastore.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// manifestOf decodes a manifest as it is on disk.
func manifestOf(t *testing.T, store *testds.Store, snapshot backupinfo.Snapshot) string {
	t.Helper()
	stored, err := os.ReadFile(filepath.Join(store.Dir, snapshot.Dir(), "index.json.blob"))
	if err != nil {
		t.Fatal(err)
	}
	decoder := blob.NewDecoder()
	defer decoder.Close()
	text, err := decoder.Decode(nil, stored, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestARewriteKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	text := manifestOf(t, store, one)
	text = strings.Replace(text, `"unprotected": {`, `"later": {"a": [1, 2.50, null]}, "unprotected": {"other": "kept", "verify_state": {"state": "ok", "upid": "?"},`, 1)
	encoder := blob.NewEncoder()
	defer encoder.Close()
	stored, err := encoder.EncodePlain(nil, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(store.Dir, one.Dir(), "index.json.blob"), string(stored))
	if err := store.Open(datastore.Options{}).SetNotes(t.Context(), object(t, one.Dir()), "mine"); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(manifestOf(t, store, one)), " ")
	for _, want := range []string{`"later": { "a": [ 1, 2.50, null ] }`, `"other": "kept"`, `"upid": "?"`, `"notes": "mine"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

func TestNotesOfADamagedOrUnfinishedSnapshotAreRefused(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	one := store.Backup("vm/100", first, []byte("x"))
	two := unfinished(t, store, second, time.Now())
	put(t, filepath.Join(store.Dir, one.Dir(), "index.json.blob"), "garbage")
	ds := store.Open(datastore.Options{})
	for name, want := range map[string]error{one.Dir(): datastore.ErrCorrupt, two.Dir(): datastore.ErrUnfinished} {
		if err := ds.SetNotes(t.Context(), object(t, name), "x"); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ds.Notes(t.Context(), object(t, name)); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(store.Dir, one.Dir(), "index.json.blob")); err != nil || string(got) != "garbage" {
		t.Errorf("the damaged manifest was replaced: %q, %v", got, err)
	}
}

// Many at once: each waits for the other's moment, and nobody's other change is lost.
func TestNotesAreWrittenOneAfterTheOther(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	var all errgroup.Group
	for i := range 4 {
		all.Go(func() error {
			ds := store.Open(datastore.Options{LockWait: time.Minute})
			for j := range 20 {
				if err := ds.SetNotes(t.Context(), object(t, one.Dir()), fmt.Sprint("note ", i, j)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	if got := notes(t, store.Open(datastore.Options{}), one.Dir()); !strings.HasPrefix(got, "note ") {
		t.Error(got)
	}
}

// A removal comes in between two notes, or when the last is written: never into one.
func TestNotesBesideRemoval(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", second, []byte("base"))
	var all errgroup.Group
	one := store.Backup("vm/100", third, []byte("x"))
	all.Go(func() error {
		ds := store.Open(datastore.Options{})
		for i := range 100 {
			err := ds.SetNotes(t.Context(), object(t, one.Dir()), fmt.Sprint(i))
			if errors.Is(err, datastore.ErrNotFound) {
				return nil
			}
			if err != nil && !errors.Is(err, flock.ErrLocked) {
				return err
			}
		}
		return nil
	})
	all.Go(func() error {
		_, err := store.Open(datastore.Options{LockWait: time.Minute}).RemoveGroup(t.Context(), one.Group, datastore.RemoveGroupOptions{})
		return err
	})
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}
