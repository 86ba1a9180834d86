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
	readers, ctx := c.startReaders(ctx)
	c.readers = readers
	tree := indexTree{root: c.root, index: c.markIndex, hidden: c.noteHidden, link: c.noteLink, file: c.noteTemporary}
	err := readers.finish(tree.walk(ctx, "."))
	c.report.Referenced = c.marks.count()
	return err
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

func (c *collection) noteLink(parent, name string) {
	c.block(Blocker{Kind: BlockerLink, Path: path.Join(parent, name), Err: errors.New("is a symbolic link, which is never followed, and may hide an index")})
}

// markIndex has the chunks of one index marked. It is opened here, where the
// directory is open: by its path it may not be found any more.
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
		c.block(Blocker{Kind: BlockerWrongType, Path: full, Err: err})
		return nil
	case err != nil:
		return err
	}
	c.noteUnexpected(parent, full)
	return c.readers.hand(ctx, openIndex{file: f, path: full, kind: indexKindOf(name)})
}

func indexKindOf(name string) index.Kind {
	if strings.HasSuffix(name, ".didx") {
		return index.Dynamic
	}
	return index.Fixed
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
// whatever depth of namespaces: a server that allowed more of them is not at fault.
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
