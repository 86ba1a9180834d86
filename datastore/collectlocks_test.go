package datastore_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func lockDirs(t *testing.T, store *testds.Store) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(store.Dir, ".pbs-like-locks"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestACollectionRemovesTheLocksOfGroupsThatAreGone(t *testing.T) {
	t.Parallel()
	store := matrixStore(t)
	share(t, store, 0)
	ds := store.Open(datastore.Options{})
	for _, group := range []string{"vm/100", "vm/300"} {
		if _, err := ds.RemoveGroup(t.Context(), store.Group(group), datastore.RemoveGroupOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ds.RemoveNamespace(t.Context(), namespace("a"), datastore.RemoveNamespaceOptions{DeleteGroups: true}); err != nil {
		t.Fatal(err)
	}
	// Somebody removes the group, and is not done; what nobody knows stays too.
	held := filepath.Join(store.Dir, ".pbs-like-locks", "group-vm-300", "locks", "0123456789abcdef")
	write(t, held, `{"exclusive": true, "hostid": "h", "processid": 7, "threadid": 0, "time": "2026-01-01T00:00:00.000+00:00"}`)
	for _, name := range []string{"unknown-vm-100", "group-x", "+hash", "group-nonsense-1"} {
		if err := os.Mkdir(filepath.Join(store.Dir, ".pbs-like-locks", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := lockDirs(t, store)
	if _, err := ds.Collect(t.Context(), datastore.CollectOptions{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	if after := lockDirs(t, store); !slices.Equal(after, before) {
		t.Errorf("a dry run: %q, before %q", after, before)
	}
	if _, err := ds.Collect(t.Context(), datastore.CollectOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"+hash", "datastore", "group-nonsense-1", "group-ns-b-vm-300", "group-vm-300", "group-x", "manifests-ns-b-vm-300", "namespaces", "snapshots-ns-b-vm-300", "test", "unknown-vm-100",
	}
	got := lockDirs(t, store)
	want = slices.DeleteFunc(want, func(name string) bool { return !slices.Contains(before, name) })
	if !slices.Equal(got, want) || !slices.Contains(before, "group-vm-100") || !slices.Contains(before, "snapshots-ns-a-vm-100") {
		t.Errorf("%q, want %q of %q", got, want, before)
	}
	store.Backup("vm/100", third, []byte("again"))
	if err := os.Remove(held); err != nil {
		t.Error(err)
	}
}
