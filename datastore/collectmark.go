package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// maxUnexpected bounds how many strange places are reported one by one.
const maxUnexpected = 20

// markAll marks every chunk that an index below the root refers to.
//
// Writers are excluded by the lock. What goes on meanwhile are readers and
// removals, and those only take away: what is renamed out of the tree under our
// eyes is not missed by anybody. Whatever renames something that has to stay alive
// holds the datastore's lock shared.
func (c *collection) markAll(ctx context.Context) error {
	if err := c.markDirectory(ctx, "."); err != nil {
		return err
	}
	c.report.Referenced = c.marks.count
	return nil
}

// markDirectory marks what the indexes in a directory and below it refer to. A
// directory that has vanished is passed over; one that can't be read may hold an
// index, and ends the collection.
func (c *collection) markDirectory(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, err := beneath.OpenDir(c.root, name)
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
		isDir, err := c.markEntry(ctx, dir, name, entry)
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
		if err := c.markDirectory(ctx, name); err != nil {
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

// markEntry looks at one name, and tells whether it is a directory to go into.
func (c *collection) markEntry(ctx context.Context, dir *os.File, parent string, entry fs.DirEntry) (isDir bool, err error) {
	name := entry.Name()
	kind := entry.Type()
	if kind&fs.ModeIrregular != 0 { // a file system that gives no types with its entries
		kind = typeOf(dir, name)
	}
	switch {
	case strings.HasPrefix(name, "."):
		return false, c.noteHidden(parent, name, kind)
	case parent == "." && isForeign(name):
		return false, nil
	case kind.IsDir():
		return true, nil
	case kind&fs.ModeSymlink != 0 && mayHideIndex(name):
		c.block(path.Join(parent, name), errors.New("is a symbolic link, which is never followed, and may hide an index"))
	case isIndex(name):
		return false, c.markIndex(ctx, dir, parent, name)
	}
	return false, nil
}

// noteHidden takes no part in what is hidden, as the original, but for the signs
// of another datastore and of operations that were cut off.
func (c *collection) noteHidden(parent, name string, kind fs.FileMode) error {
	if name == chunkDirName && parent != "." && kind&(fs.ModeDir|fs.ModeSymlink) != 0 {
		return fmt.Errorf("%q is a datastore inside of this one, whose chunks may belong to it: %w", path.Join(c.path, parent), ErrNested)
	}
	if isLeftover(name) && !slices.Contains(c.beside, parent) {
		c.beside = append(c.beside, parent)
	}
	return nil
}

// mayHideIndex tells whether what a symbolic link leads to could be, or hold, an
// index: it could, unless its name is that of something else.
func mayHideIndex(name string) bool {
	return !strings.HasSuffix(name, ".blob") && name != backupinfo.OwnerName && name != backupinfo.NotesName
}

func isIndex(name string) bool {
	return strings.HasSuffix(name, ".fidx") || strings.HasSuffix(name, ".didx")
}

func (c *collection) block(name string, err error) {
	c.report.Blocked = append(c.report.Blocked, &EntryError{Path: name, Err: err})
}

// markIndex marks the chunks of one index.
func (c *collection) markIndex(ctx context.Context, dir *os.File, parent, name string) error {
	full := path.Join(parent, name)
	f, err := beneath.OpenRegular(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if there, _ := beneath.Stat(c.root, parent); there.Ino != 0 {
			c.Datastore.opts.Events.notice(full, "index vanished while its directory is still there", nil)
		}
		return nil
	case errors.Is(err, beneath.ErrNotRegular):
		c.block(full, err)
		return nil
	case err != nil:
		return err
	}
	defer f.Close()
	c.noteUnexpected(parent, full)
	err = c.markDigests(ctx, f, indexKindOf(name))
	if errors.Is(err, index.ErrCorrupt) {
		c.block(full, err)
		return nil
	}
	c.report.IndexFiles++
	c.Datastore.opts.Events.progress(Progress{Operation: "mark", Object: c.path, Done: uint64(c.report.IndexFiles), Items: true})
	return err
}

func indexKindOf(name string) index.Kind {
	if strings.HasSuffix(name, ".didx") {
		return index.Dynamic
	}
	return index.Fixed
}

// markDigests marks every whole entry, whatever checksum, offsets and length are.
func (c *collection) markDigests(ctx context.Context, f *os.File, kind index.Kind) error {
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	for d, err := range index.Digests(ctx, f, stat.Size(), kind) {
		if err != nil {
			return err
		}
		c.marks.add(d)
	}
	// Of an index whose length is wrong, nobody knows what it describes.
	if x, err := index.Open(f, stat.Size(), kind); err == nil {
		c.report.IndexBytes += x.Size()
	}
	return nil
}

// noteUnexpected reports an index where none belongs, once.
func (c *collection) noteUnexpected(dir, full string) {
	if isSnapshotDir(dir) {
		return
	}
	if len(c.report.Unexpected) < maxUnexpected {
		c.report.Unexpected = append(c.report.Unexpected, full)
		c.Datastore.opts.Events.notice(full, "index in an unexpected place: what it refers to is kept", nil)
	}
}

// isSnapshotDir tells by its path whether a directory is that of a snapshot, in
// whatever depth of namespaces.
func isSnapshotDir(dir string) bool {
	parts := strings.Split(dir, "/")
	for len(parts) > 3 && parts[0] == "ns" {
		parts = parts[2:]
	}
	if len(parts) != 3 {
		return false
	}
	_, err := backupinfo.ParseGroup(backupinfo.Namespace{}, parts[0]+"/"+parts[1])
	return err == nil && backupinfo.MatchTime(parts[2])
}
