package datastore_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func TestAStoreThatAServerServesIsNotChanged(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	snapshot := store.Backup("vm/100", first, []byte("x"))
	link := filepath.Join(t.TempDir(), "link")
	symlink(t, store.Dir, link)
	for name, test := range map[string]struct {
		config string
		served bool
	}{
		"served":             {"datastore: main\n\tcomment the one\n\tpath " + store.Dir + "\n\tgc-schedule daily\n", true},
		"over a link":        {"datastore: main\n    path " + link + "\n", true},
		"the second one":     {"datastore: one\n\tpath /nowhere\n\ndatastore: two\n\tpath " + store.Dir + "\n", true},
		"another":            {"datastore: one\n\tpath /nowhere\n", false},
		"another section":    {"sync: one\n\tpath " + store.Dir + "\n", false},
		"a comment":          {"datastore: one\n# path " + store.Dir + "\n", false},
		"empty":              {"", false},
		"not a section file": {"\x00\xff\n\n path\n:\n", false},
	} {
		config := filepath.Join(t.TempDir(), "datastore.cfg")
		put(t, config, test.config)
		ds := store.Open(datastore.Options{ServerConfig: config})
		_, backup := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: first}) // which is taken
		_, remove := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{DryRun: true})
		if errors.Is(backup, datastore.ErrServed) != test.served || errors.Is(remove, datastore.ErrServed) != test.served {
			t.Errorf("%s: %v, %v", name, backup, remove)
		}
		reader, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
		if err := errors.Join(err, reader.Close()); err != nil {
			t.Errorf("%s: reading: %v", name, err)
		}
		stopped := store.Open(datastore.Options{ServerConfig: config, ServerStopped: true})
		if _, err := stopped.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{DryRun: true}); err != nil {
			t.Errorf("%s, and stopped: %v", name, err)
		}
	}
	if _, err := store.Open(datastore.Options{ServerConfig: "/nonexistent"}).RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{DryRun: true}); err != nil {
		t.Error(err)
	}
}
