package datastore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func status(t *testing.T, store *testds.Store) datastore.Status {
	t.Helper()
	s, err := store.Open(datastore.Options{}).Status(t.Context(), datastore.StatusOptions{Chunks: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStatusCountsWhatThereIs(t *testing.T) {
	t.Parallel()
	store := damageStore(t)
	store.Damaged = true
	store.Backup("ct/1", first, []byte("x"))
	noError(t, os.MkdirAll(filepath.Join(store.Dir, "ns/a/ns/b"), 0o755))
	noError(t, os.Remove(filepath.Join(store.Dir, sound, "index.json.blob")))
	s := status(t, store)
	if s.Namespaces != 3 || s.Groups != 2 || s.Snapshots != 2 || s.Unfinished != 1 || s.Chunks != 3 || s.Newest != second || len(s.Unread) != 0 {
		t.Errorf("%+v", s)
	}
	if s.Total == 0 || s.Available > s.Total || s.Used > s.Total || s.InodesFree > s.Inodes || s.FileSystem.Name == "" {
		t.Errorf("%+v", s)
	}
}

func TestStatusNamesWhatItCannotReadAndGoesOn(t *testing.T) {
	t.Parallel()
	store := damageStore(t)
	linkAt("vm/7")(t, store.Dir)
	linkAt("ct")(t, store.Dir)
	pipeAt(sound+"/index.json.blob")(t, store.Dir)
	store.Damaged = true
	s := status(t, store)
	if s.Groups != 1 || s.Snapshots != 1 || len(s.Unread) != 3 {
		t.Errorf("%+v", s)
	}
}

func TestStatusTellsWhatBecameOfTheLastCollection(t *testing.T) {
	t.Parallel()
	store := scenario{before: 2}.store(t)
	want := func(state datastore.CollectionState, figures bool) {
		t.Helper()
		if c := status(t, store).Collection; c.State != state || (c.Figures != nil) != figures || c.Time.IsZero() != (state == datastore.CollectionNever) {
			t.Errorf("%+v, want %s, figures %v", c, state, figures)
		}
	}
	want(datastore.CollectionNever, false)
	store.Open(datastore.Options{}) // takes part in nothing
	_, err := store.Open(datastore.Options{}).Collect(t.Context(), datastore.CollectOptions{DryRun: true})
	noError(t, err)
	want(datastore.CollectionNever, false)
	killed := operation{name: "collect"}.start(t, store, fsoptest.KillAt(1).Spec())
	<-killed.Lines() // closed, when it is dead
	want(datastore.CollectionAborted, false)
	collect(t, store, nothing)
	want(datastore.CollectionDone, true)
	paused := operation{name: "collect"}.start(t, store, "pause-before-1")
	paused.Line()
	want(datastore.CollectionRunning, true)
	paused.Kill()
	want(datastore.CollectionAborted, true)
	if report := collect(t, store, nothing); report.IndexFiles != status(t, store).Collection.Figures.IndexFiles {
		t.Errorf("%+v", report)
	}
	want(datastore.CollectionDone, true)
	put(t, filepath.Join(store.Dir, ".gc-status"), strings.Repeat(" ", 1<<20))
	want(datastore.CollectionUnknown, false)
	noError(t, os.Remove(filepath.Join(store.Dir, ".gc-status")))
	want(datastore.CollectionNever, false)
}

func TestStatusOfTheOriginalsStoreHasItsFigures(t *testing.T) {
	t.Parallel()
	s := status(t, testds.Golden(t, "store"))
	if f := s.Collection.Figures; f == nil || s.Collection.State != datastore.CollectionDone || f.IndexFiles == 0 || f.PendingChunks != 5 || f.DiskBytes == 0 {
		t.Errorf("%+v", s.Collection)
	}
	if s.Namespaces < 4 || s.Unfinished == 0 || s.Chunks == 0 || len(s.Unread) != 0 {
		t.Errorf("%+v", s)
	}
}
