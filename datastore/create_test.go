package datastore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func TestANewStoreIsWholeAndOfTheRightModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(testds.TempDir(t), "store")
	var last datastore.Progress
	opts := datastore.CreateOptions{OnlyHost: true, Events: datastore.Events{Progress: func(p datastore.Progress) { last = p }}}
	if os.Geteuid() == 0 {
		opts.Owner = &fsop.Owner{UID: 34, GID: 34}
	}
	if err := datastore.Create(t.Context(), dir, opts); err != nil {
		t.Fatal(err)
	}
	if last.Done != 65536 || last.Total != 65536 || !last.Items {
		t.Errorf("%+v", last)
	}
	for name, mode := range map[string]uint32{".": 0o755, ".chunks": 0o750, ".chunks/0000": 0o750, ".chunks/ffff": 0o750, ".lock": 0o644} {
		var stat unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, name), &stat); err != nil || stat.Mode&0o7777 != mode || opts.Owner != nil && stat.Uid != 34 {
			t.Errorf("%s: mode %o of %d, %v", name, stat.Mode, stat.Uid, err)
		}
	}
	store, err := datastore.Open(dir, datastore.Options{OnlyHost: true})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := testds.Backup(t.Context(), store, (&testds.Store{T: t}).Group("vm/100"), first, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]uint32{
		"vm": 0o755, "vm/100": 0o755, "vm/100/owner": 0o644, snapshot.Dir(): 0o755,
		snapshot.Dir() + "/index.json.blob": 0o644, snapshot.Dir() + "/disk.img.fidx": 0o644, snapshot.Dir() + "/vm.conf.blob": 0o644,
	} {
		var stat unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, name), &stat); err != nil || stat.Mode&0o7777 != mode || opts.Owner != nil && (stat.Uid != 34 || stat.Gid != 34) {
			t.Errorf("%s: mode %o of %d, %v", name, stat.Mode, stat.Uid, err)
		}
	}
}

func TestAStoreIsNotMadeInTheWrongPlace(t *testing.T) {
	t.Parallel()
	outer := testds.New(t)
	base := t.TempDir()
	put(t, filepath.Join(base, "file"), "x")
	for _, name := range []string{"full", "full/deep", "link-target"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	symlink(t, outer.Dir, filepath.Join(base, "link"))
	for what, path := range map[string]string{
		"a relative path":              "store",
		"a directory with content":     filepath.Join(base, "full"),
		"a file":                       filepath.Join(base, "file"),
		"below what does not exist":    filepath.Join(base, "no/store"),
		"a store":                      outer.Dir,
		"inside a store":               filepath.Join(outer.Dir, "inner"),
		"inside a store by a link":     filepath.Join(base, "link/inner"),
		"deep inside a store, by dots": filepath.Join(outer.Dir, "vm/../inner"),
	} {
		before := tree(t, outer.Dir)
		if err := datastore.Create(t.Context(), path, datastore.CreateOptions{OnlyHost: true}); err == nil {
			t.Errorf("%s: a store was made", what)
		}
		if after := tree(t, outer.Dir); after != before {
			t.Errorf("%s: the outer store has changed", what)
		}
	}
}

func TestWhatAFileSystemPutsIntoItsRootIsNoContent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(testds.TempDir(t), "disk")
	for _, name := range []string{"", "lost+found", ".snapshot", "System Volume Information"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := datastore.Create(t.Context(), dir, datastore.CreateOptions{OnlyHost: true}); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNoStoreIsToldApart(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, name := range []string{"empty", "fresh", "fresh/lost+found", "other", "other/x"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(base, "file"), "x")
	for name, want := range map[string]error{
		"nothing": datastore.ErrNotFound,
		"empty":   datastore.ErrNotMounted,
		"fresh":   datastore.ErrNotMounted,
		"other":   datastore.ErrNotDatastore,
		"file":    datastore.ErrNotDatastore,
	} {
		if _, err := datastore.Open(filepath.Join(base, name), datastore.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADiskThatWasUnmountedUnderAnOpenStoreIsNoticed(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, []byte("x"))
	ds := store.Open(datastore.Options{})
	aside := store.Dir + ".aside"
	if err := os.Rename(store.Dir, aside); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(store.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := testds.Backup(t.Context(), ds, store.Group("vm/100"), second, []byte("y")); !errors.Is(err, datastore.ErrNotMounted) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(store.Dir); err != nil || len(entries) != 0 {
		t.Errorf("something was made in the empty directory: %v", entries)
	}
	if err := os.Remove(store.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, store.Dir); err != nil {
		t.Fatal(err)
	}
}
