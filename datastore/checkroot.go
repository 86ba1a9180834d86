package datastore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// checkOutside looks at what is around the store.
func (c *checker) checkOutside() {
	switch outer, err := enclosingStore(c.root); {
	case err != nil:
		c.unlisted(".", err)
	case outer != "":
		c.found(FindingNested, ".", "is inside of the datastore "+quoted(outer), nil)
	}
	mounts, err := c.readMountPoints(c.root)
	if err == nil {
		err = c.allMounted(c.root, mounts, nil)
	}
	if unmounted, ok := errors.AsType[*UnmountedError](err); ok {
		for _, name := range unmounted.Paths {
			c.unlisted(name, fmt.Errorf("a file system belongs there: %w", ErrNotMounted))
		}
	} else if err != nil {
		c.unlisted(mountsName, err)
	}
}

// checkRoot looks at everything but the chunks.
func (c *checker) checkRoot(ctx context.Context) {
	if stat, err := beneath.Stat(c.root, "."); err == nil && wrongMode(stat.Mode) != "" {
		c.found(FindingMode, ".", wrongMode(stat.Mode), nil) // its parent is none of ours
	}
	lock := false
	c.report.Namespaces++
	c.eachEntry(ctx, ".", func(e entry) {
		lock = lock || e.name == lockFileName
		c.rootEntry(ctx, e)
	})
	if c.madeLock || !lock && ctx.Err() == nil {
		c.found(FindingLockMissing, lockFileName, "is missing", func() error { return c.lock.Check() }) // locking made it
	}
}

func (c *checker) rootEntry(ctx context.Context, e entry) {
	switch {
	case e.name == chunkDirName:
		c.directory(e, chunkDirMode)
	case e.name == lockFileName:
		c.file(e)
	case e.name == statusName:
		c.status(e)
	case e.name == mountsName:
		c.file(e) // what is in it checkOutside reads
	case strings.HasPrefix(e.name, statusName+".tmp_"), strings.HasPrefix(e.name, mountsName+".tmp_"):
		c.tempFile(e, c.removeUnder(ctx, e, nil)) // a collection has the lock that we have
	case e.name == leftoverDir:
		if c.directory(e, directoryMode) {
			c.eachEntry(ctx, e.path(), func(e entry) { c.leftoverOrUnknown(ctx, e) })
		}
	case e.name == schemeName:
		c.file(e)
	case strings.HasPrefix(e.name, fsop.TempPrefix(schemeName)):
		c.tempFile(e, c.removeUnder(ctx, e, nil)) // who changes the scheme has the lock that we have
	case e.name == storeLockDir:
		if !e.isDir() { // its group makes locks in it, so that its mode is another one
			c.wrongType(e, "a directory")
		}
	case isForeign(e.name):
	case isType(e.name), e.name == "ns":
		c.namespaceEntry(ctx, backupinfo.Namespace{}, e)
	default:
		c.hiddenOrUnknown(ctx, hiddenInRoot, e)
	}
}

// hiddenOrUnknown is for what is of ours, with attributes as everything has them, or of nobody.
func (c *checker) hiddenOrUnknown(ctx context.Context, place hiddenPlace, e entry) {
	switch own, known := hiddenAt(place, e.name); {
	case !known || isLeftover(e.name):
		c.leftoverOrUnknown(ctx, e)
	case own.kind.IsDir():
		c.directory(e, directoryMode) // what is in it is the business of who made it
	default:
		c.file(e)
	}
}

func (c *checker) status(e entry) {
	if !c.file(e) {
		return
	}
	text, err := readBounded(e.dir, e.name, maxStatusSize)
	if err != nil && trouble(err) {
		c.unchecked(e.path(), err)
	} else if err != nil || json.Unmarshal(text, &CollectionFigures{}) != nil {
		c.found(FindingStatus, e.path(), "is not what a collection leaves", nil)
	}
}

// namespace looks at the groups of a namespace and at the namespaces in it.
func (c *checker) namespace(ctx context.Context, ns backupinfo.Namespace) {
	c.report.Namespaces++
	c.eachEntry(ctx, ns.Dir(), func(e entry) { c.namespaceEntry(ctx, ns, e) })
}

func (c *checker) namespaceEntry(ctx context.Context, ns backupinfo.Namespace, e entry) {
	switch {
	case e.name == "ns":
		if c.directory(e, directoryMode) {
			c.eachEntry(ctx, e.path(), func(e entry) { c.child(ctx, ns, e) })
		}
	case isType(e.name):
		if c.directory(e, directoryMode) {
			c.eachEntry(ctx, e.path(), func(below entry) { c.groupEntry(ctx, ns, e.name, below) })
		}
	default:
		c.leftoverOrUnknown(ctx, e)
	}
}

func isType(name string) bool {
	for _, kind := range backupinfo.Types() {
		if name == string(kind) {
			return true
		}
	}
	return false
}

func (c *checker) child(ctx context.Context, ns backupinfo.Namespace, e entry) {
	if strings.HasPrefix(e.name, ".") {
		c.leftoverOrUnknown(ctx, e)
		return
	}
	if !c.directory(e, directoryMode) {
		return
	}
	child, err := ns.Child(e.name)
	if err != nil {
		c.badName(ctx, e, err)
		return
	}
	c.namespace(ctx, child)
}

func (c *checker) badName(ctx context.Context, e entry, err error) {
	c.found(FindingBadName, e.path(), err.Error(), nil)
	c.unexpected(ctx, e.path())
}

// leftoverOrUnknown is for what has no place in the structure.
func (c *checker) leftoverOrUnknown(ctx context.Context, e entry) {
	switch {
	case isLeftover(e.name):
		c.found(FindingLeftover, e.path(), "is on its way in or out, or was left there", func() error { return c.removeLeftover(ctx, e) })
	case e.name == chunkDirName && e.isDir():
		c.found(FindingNested, e.parent, "is a datastore inside of this one", nil)
	case e.isRegular() && isIndex(e.name) && !strings.HasPrefix(e.name, "."):
		c.found(FindingIndexMisplaced, e.path(), "is an index where no backup has one; what it refers to is kept", nil)
	case !e.isDir() && !e.isRegular():
		c.wrongType(e, "a file or a directory")
	default:
		c.found(FindingUnknownName, e.path(), "is nothing that belongs to a datastore", nil)
		if e.isDir() && !strings.HasPrefix(e.name, ".") {
			c.unexpected(ctx, e.path())
		}
	}
}

// unexpected looks through a directory that should not be there for what makes it
// more than a stranger: indexes, which a collection counts, and other datastores.
func (c *checker) unexpected(ctx context.Context, name string) {
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		c.eachEntry(ctx, queue[0], func(e entry) {
			switch hidden := strings.HasPrefix(e.name, "."); {
			case e.isDir() && !hidden:
				queue = append(queue, e.path())
			case e.name == chunkDirName, !hidden && (isIndex(e.name) || e.kind() == unix.S_IFLNK):
				c.leftoverOrUnknown(ctx, e)
			}
		})
	}
}

// removeLeftover removes what an operation left that was cut off. Who works on one holds its lock.
func (c *checker) removeLeftover(ctx context.Context, e entry) error {
	// The rename that brought it here may not be on disk yet. Its files must not be gone before it is.
	if err := c.disk.SyncDir(e.dir); err != nil {
		return err
	}
	if err := c.sweepEntry(ctx, c.disk, e.dir, e.name); err != nil {
		return err
	}
	there, err := exists(c.root, path.Join(e.parent, e.name))
	if err == nil && there {
		err = errors.New("somebody is at work on it, or may be on another host")
	}
	return err
}
