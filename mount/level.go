package mount

import (
	"context"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// level is a directory above the archives: what is in it is asked for each time.
type level interface {
	// path is its name below the mount point, for messages and inode numbers.
	path() string
	// list gives the names of what is in it. The second is how many could not be shown, with the reason of the first.
	list(ctx context.Context) (items []item, hidden int, first error, err error)
	// find gives one of them.
	find(ctx context.Context, name string) (found, error)
	// there tells whether it is still there, and when it was made.
	there(ctx context.Context) (time.Time, error)
}

// item is a name in a level.
type item struct {
	name string
	mode uint32 // the type only
}

// found is what a name stands for.
type found struct {
	node fs.InodeEmbedder
	ino  uint64
	attr fuse.Attr
	keep time.Duration // for how long the kernel may remember it
}

// levelDir is the node of a level.
type levelDir struct {
	node
	level level
}

var (
	_ fs.NodeLookuper       = (*levelDir)(nil)
	_ fs.NodeOpendirHandler = (*levelDir)(nil)
	_ fs.NodeGetattrer      = (*levelDir)(nil)
	_ fs.NodeStatfser       = (*levelDir)(nil)
)

// dir makes what is found of a level.
func (f *filesystem) dir(l level, at time.Time) found {
	return found{node: &levelDir{node{fsys: f}, l}, ino: f.inodes.one(l.path()), attr: f.own(syscall.S_IFDIR|0o555, at, 0)}
}

// Lookup finds something in the directory.
func (d *levelDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	what, err := d.level.find(ctx, name)
	if err != nil {
		return nil, d.fsys.fail(d.level.path()+"/"+name, err)
	}
	return d.adopt(ctx, what, out), 0
}

// adopt makes what was found a child.
func (n *node) adopt(ctx context.Context, what found, out *fuse.EntryOut) *fs.Inode {
	out.Attr = what.attr
	out.SetEntryTimeout(what.keep)
	out.SetAttrTimeout(what.keep)
	return n.NewInode(ctx, what.node, fs.StableAttr{Mode: what.attr.Mode & syscall.S_IFMT, Ino: what.ino})
}

// Getattr tells about the directory itself.
func (d *levelDir) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	at, err := d.level.there(ctx)
	if err != nil {
		return d.fsys.gone(d.level.path(), err)
	}
	out.Attr = d.fsys.own(syscall.S_IFDIR|0o555, at, 0)
	return 0
}

// gone is fail for what was found before.
func (f *filesystem) gone(path string, err error) syscall.Errno {
	errno := f.fail(path, err)
	if errno == syscall.ENOENT {
		errno = syscall.ESTALE
	}
	return errno
}

// OpendirHandle begins a listing. It is that of one moment.
func (d *levelDir) OpendirHandle(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	items, hidden, first, err := d.level.list(ctx)
	if err != nil {
		return nil, 0, d.fsys.gone(d.level.path(), err)
	}
	d.fsys.problems.hidden(d.level.path(), hidden, first)
	entries := []fuse.DirEntry{{Name: ".", Mode: syscall.S_IFDIR, Ino: d.StableAttr().Ino}, {Name: "..", Mode: syscall.S_IFDIR, Ino: d.parentIno()}}
	for _, i := range items {
		entries = append(entries, fuse.DirEntry{Name: i.name, Mode: i.mode, Ino: d.fsys.inodes.one(d.level.path() + "/" + i.name)})
	}
	return fs.NewListDirStream(entries), 0, 0
}

func (n *node) parentIno() uint64 {
	if _, parent := n.Parent(); parent != nil {
		return parent.StableAttr().Ino
	}
	return n.StableAttr().Ino
}
