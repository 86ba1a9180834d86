package datastore

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

const chunkDirMode = 0o750

// entry is one name in an open directory, and what it leads to.
type entry struct {
	dir    *os.File
	parent string // relative to the root
	name   string
	stat   unix.Stat_t
}

func (e entry) path() string    { return path.Join(e.parent, e.name) }
func (e entry) kind() uint32    { return e.stat.Mode & unix.S_IFMT }
func (e entry) isDir() bool     { return e.kind() == unix.S_IFDIR }
func (e entry) isRegular() bool { return e.kind() == unix.S_IFREG }

// eachEntry calls visit with everything in a directory, in order of name. What
// can't be read is told.
func (c *checker) eachEntry(ctx context.Context, name string, visit func(entry)) {
	dir, err := beneath.OpenDir(c.root, name)
	if err != nil {
		c.unlisted(name, err)
		return
	}
	defer dir.Close()
	c.eachName(ctx, dir, name, func(child string) {
		if e, ok := c.entry(dir, name, child); ok {
			visit(e)
		}
	})
}

// eachName reads an open directory. A name that comes twice, as one can that is
// renamed meanwhile, is one.
func (c *checker) eachName(ctx context.Context, dir *os.File, full string, visit func(name string)) {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		c.unlisted(full, err)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if ctx.Err() != nil {
			return
		}
		visit(name)
	}
}

func (c *checker) entry(dir *os.File, parent, name string) (entry, bool) {
	stat, err := beneath.Stat(dir, name)
	if err != nil {
		c.unlisted(path.Join(parent, name), err)
	}
	return entry{dir: dir, parent: parent, name: name, stat: stat}, err == nil
}

// directory checks that something is a directory as it has to be, and tells
// whether it can be entered.
func (c *checker) directory(e entry, mode fs.FileMode) bool {
	if !e.isDir() {
		c.wrongType(e, "a directory")
		return false
	}
	c.attributes(e, mode)
	return true
}

// file checks that something is a file as it has to be, and tells whether it can be read.
func (c *checker) file(e entry) bool {
	if !e.isRegular() {
		c.wrongType(e, "a file")
		return false
	}
	c.attributes(e, fileMode)
	return true
}

func (c *checker) wrongType(e entry, wanted string) {
	c.found(FindingWrongType, e.path(), fmt.Sprintf("is a %s, and should be %s", beneath.TypeName(e.stat.Mode), wanted), nil)
}

// attributes checks permissions and owner. mode is what it gets where its own will not do.
func (c *checker) attributes(e entry, mode fs.FileMode) {
	keep := fs.FileMode(e.stat.Mode & 0o777)
	wrong := wrongMode(e.stat.Mode)
	if wrong != "" {
		keep = mode
	}
	settle := func() error { return c.disk.Settle(e.dir, e.name, keep) }
	if wrong != "" {
		c.found(FindingMode, e.path(), wrong, settle)
	}
	uid, gid := int(e.stat.Uid), int(e.stat.Gid)
	switch text := fmt.Sprintf("belongs to %d:%d, the store to %d:%d", uid, gid, c.owner.UID, c.owner.GID); {
	case uid != c.owner.UID:
		c.found(FindingFileOwner, e.path(), text, settle)
	case gid != c.owner.GID:
		c.found(FindingGroupAccess, e.path(), text, nil)
	case wrong == "" && e.stat.Mode&unix.S_IWGRP != 0:
		c.found(FindingGroupAccess, e.path(), fmt.Sprintf("mode %04o: its group %d can change it", e.stat.Mode&0o7777, gid), nil)
	}
}

// wrongMode says what is wrong with permissions: too few for the owner to work with
// it, or so many that everybody can change it. What a group may do, its administrator may have meant.
func wrongMode(mode uint32) string {
	needed := uint32(0o600)
	if mode&unix.S_IFMT == unix.S_IFDIR {
		needed = 0o700
	}
	switch {
	case mode&needed != needed:
		return fmt.Sprintf("mode %04o: its owner can't use it", mode&0o7777)
	case mode&unix.S_IWOTH != 0:
		return fmt.Sprintf("mode %04o: everybody can change it", mode&0o7777)
	}
	return ""
}
