package datastore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func namespaceRemover(opts datastore.RemoveNamespaceOptions) func(*testds.Store, *datastore.Datastore) error {
	return func(_ *testds.Store, ds *datastore.Datastore) error { return removeNamespace("empty", opts)(ds) }
}

// foreignSnapshot is one that a server in a container has begun, past all locks that we can see.
func foreignSnapshot(t testing.TB, at string) {
	t.Helper()
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Error(err)
	}
	put(t, filepath.Join(at, "x.conf.blob"), "")
}

// TestWhatComesInWhileItsWholeIsRemovedIsPutBack although whoever made it took no lock of ours.
func TestWhatComesInWhileItsWholeIsRemovedIsPutBack(t *testing.T) {
	t.Parallel()
	all := datastore.RemoveNamespaceOptions{DeleteGroups: true, Force: true}
	for name, c := range map[string]struct {
		remove func(*testds.Store, *datastore.Datastore) error
		at     string // the directory that is renamed
		came   string
	}{
		"into an empty namespace":         {namespaceRemover(datastore.RemoveNamespaceOptions{}), "ns/empty", "ns/empty/vm/7/2026-05-05T05:05:05Z"},
		"into a namespace below":          {namespaceRemover(datastore.RemoveNamespaceOptions{}), "ns/empty", "ns/empty/ns/deep/vm/7/2026-05-05T05:05:05Z"},
		"into a namespace with its group": {namespaceRemover(all), "ns/empty", "ns/empty/ct/8/2026-05-05T05:05:05Z"},
		"into a group": {func(s *testds.Store, ds *datastore.Datastore) error {
			_, err := ds.RemoveGroup(s.T.Context(), s.Group("vm/100"), datastore.RemoveGroupOptions{})
			return err
		}, "vm/100", "vm/100/2026-05-05T05:05:05Z"},
		"into a group whose last snapshot goes": {func(s *testds.Store, ds *datastore.Datastore) error {
			last := backupinfo.Snapshot{Group: s.Group("ct/300"), Time: first}
			_, err := ds.RemoveSnapshot(s.T.Context(), last, datastore.RemoveOptions{})
			return err
		}, "ct/300", "ct/300/2026-05-05T05:05:05Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := scenario{before: 3}.store(t)
			if err := createNamespace("empty/deep", true)(store.Open(datastore.Options{})); err != nil {
				t.Fatal(err)
			}
			comes := sync.OnceFunc(func() { foreignSnapshot(t, filepath.Join(store.Dir, c.came)) })
			disk := &fsop.Disk{Before: func(change fsop.Change) error {
				if change.Op == fsop.OpRename && strings.HasSuffix(change.Path, c.at) {
					comes()
				}
				return nil
			}}
			err := c.remove(store, store.OpenWith(disk))
			if tidied := strings.Contains(name, "last"); tidied && err != nil || !tidied && !errors.Is(err, flock.ErrChanged) {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(filepath.Join(store.Dir, c.came, "x.conf.blob")); err != nil {
				t.Errorf("what came is gone: %v", err)
			}
		})
	}
}

// TestWhatCannotHaveItsNameBackIsShownUnderAnother where somebody has taken that name meanwhile.
func TestWhatCannotHaveItsNameBackIsShownUnderAnother(t *testing.T) {
	t.Parallel()
	store := scenario{before: 3}.store(t)
	at := filepath.Join(store.Dir, "vm/100")
	renames := 0
	disk := &fsop.Disk{Before: func(change fsop.Change) error {
		if change.Op != fsop.OpRename {
			return nil
		}
		switch renames++; renames {
		case 1:
			foreignSnapshot(t, filepath.Join(at, "2026-05-05T05:05:05Z"))
		case 2:
			return os.Mkdir(at, 0o755)
		}
		return nil
	}}
	_, err := store.OpenWith(disk).RemoveGroup(t.Context(), store.Group("vm/100"), datastore.RemoveGroupOptions{})
	kept, _ := filepath.Glob(filepath.Join(store.Dir, "vm/100-kept-*"))
	if !errors.Is(err, flock.ErrChanged) || len(kept) != 1 || !strings.Contains(err.Error(), filepath.Base(kept[0])) {
		t.Fatalf("%v, %q", err, kept)
	}
	if err := errors.Join(os.Remove(at), os.Rename(kept[0], at)); err != nil {
		t.Error(err)
	}
	if n := len(store.Finished()); n != 3 {
		t.Errorf("%d finished snapshots", n)
	}
}
