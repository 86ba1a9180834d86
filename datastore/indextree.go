package datastore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// indexTree walks over every index below a store's root, in places where a backup
// has one and in others. Hidden names are passed over, as by the original, and so
// is what is not the store's in its root. Each of the functions is told of what
// it is named after; an error of theirs ends the walk.
type indexTree struct {
	root   *os.File
	index  func(ctx context.Context, dir *os.File, parent, name string) error
	hidden func(parent, name string, kind fs.FileMode) error
	link   func(parent, name string) // that may hide an index
	file   func(parent, name string) // of any other kind
}

// walk goes through a directory and what is below it. A directory that has
// vanished is passed over; one that can't be read may hold an index, and ends the walk.
func (t *indexTree) walk(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, err := beneath.OpenDir(t.root, name)
	if err != nil {
		return ignoreVanished(err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return ignoreVanished(err)
	}
	var below []string
	for _, entry := range entries {
		isDir, err := t.entry(ctx, dir, name, entry)
		if err != nil {
			return err
		}
		if isDir {
			below = append(below, path.Join(name, entry.Name()))
		}
	}
	if err := dir.Close(); err != nil { // of a deep tree, few directories are open at a time
		return err
	}
	for _, name := range below {
		if err := t.walk(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func ignoreVanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// entry looks at one name, and tells whether it is a directory to go into.
func (t *indexTree) entry(ctx context.Context, dir *os.File, parent string, entry fs.DirEntry) (isDir bool, err error) {
	name := entry.Name()
	kind := entry.Type()
	if kind&fs.ModeIrregular != 0 { // a file system that gives no types with its entries
		kind = typeOf(dir, name)
	}
	switch {
	case strings.HasPrefix(name, "."):
		return false, t.hidden(parent, name, kind)
	case parent == "." && isForeign(name):
		return false, nil
	case kind.IsDir():
		return true, nil
	case kind&fs.ModeSymlink != 0 && mayHideIndex(name):
		t.link(parent, name)
	case isIndex(name):
		return false, t.index(ctx, dir, parent, name)
	default:
		t.file(parent, name)
	}
	return false, nil
}

// mayHideIndex tells whether what a symbolic link leads to could be, or hold, an
// index: it could, unless its name is that of something else.
func mayHideIndex(name string) bool {
	return !strings.HasSuffix(name, ".blob") && name != backupinfo.OwnerName && name != backupinfo.NotesName
}

func isIndex(name string) bool {
	return strings.HasSuffix(name, ".fidx") || strings.HasSuffix(name, ".didx")
}
