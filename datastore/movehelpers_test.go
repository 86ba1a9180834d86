package datastore_test

import (
	"errors"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// makeNamespaces makes namespaces with all above them, as far as they are missing.
func makeNamespaces(store *testds.Store, names ...string) {
	store.T.Helper()
	for _, name := range names {
		err := store.Open(datastore.Options{}).CreateNamespace(store.T.Context(), namespace(name), datastore.CreateNamespaceOptions{Parents: true})
		if err != nil && !errors.Is(err, datastore.ErrExists) {
			store.T.Fatal(err)
		}
	}
}

func groupIn(ns, name string) backupinfo.Group {
	group, err := backupinfo.ParseGroup(namespace(ns), name)
	if err != nil {
		panic(err) // a constant of a test
	}
	return group
}

// backUpIn makes a finished snapshot in a namespace, which is made if it is not there.
func backUpIn(store *testds.Store, ns, group string, time backupinfo.Time) backupinfo.Snapshot {
	store.T.Helper()
	makeNamespaces(store, ns)
	snapshot, err := testds.Backup(store.T.Context(), store.Open(datastore.Options{}), groupIn(ns, group), time, []byte(ns+group+time.String()))
	if err != nil {
		store.T.Fatal(err)
	}
	return snapshot
}

// inNamespaces puts three snapshots below a, one into c, and makes d.
func inNamespaces(store *testds.Store) {
	store.T.Helper()
	backUpIn(store, "a", "vm/100", first)
	backUpIn(store, "a", "vm/100", second)
	backUpIn(store, "a/b", "ct/1", first)
	backUpIn(store, "c", "vm/100", third)
	makeNamespaces(store, "d")
}

// allNamespaces lists them all, without the root.
func allNamespaces(store *testds.Store) (names []string) {
	store.T.Helper()
	for ns, err := range store.Open(datastore.Options{}).Namespaces(store.T.Context(), backupinfo.Namespace{}, -1) {
		if err != nil {
			store.T.Error(err)
		}
		names = append(names, ns.String())
	}
	return names[1:]
}

func hasNamespace(name string) func(*testds.Store) int {
	return func(store *testds.Store) int {
		store.T.Helper()
		if slices.Contains(allNamespaces(store), name) {
			return 1
		}
		return 0
	}
}

// movedTo counts the finished snapshots in and below a namespace, and makes sure
// that there are as many as there were in all: each is in one place.
func movedTo(name string, all int) func(*testds.Store) int {
	return func(store *testds.Store) int {
		store.T.Helper()
		finished, moved := store.Finished(), 0
		if len(finished) != all {
			store.T.Errorf("%d snapshots, and not %d: %v", len(finished), all, finished)
		}
		for _, snapshot := range finished {
			if namespace(name).Contains(snapshot.Group.Namespace) {
				moved++
			}
		}
		return moved
	}
}
