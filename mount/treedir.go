package mount

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/pbs-like/pbs-like/pxar"
)

var _ fs.NodeOpendirHandler = (*entry)(nil)

// maxName is what the kernel takes from a file system in user space.
const maxName = 1024

// unshowable says why a name can't be one of a file system.
func unshowable(name string) error {
	switch {
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		return fmt.Errorf("%w: the name %q can't be that of a file", pxar.ErrCorrupt, name)
	case len(name) > maxName:
		return fmt.Errorf("a name of %d bytes is longer than the kernel takes", len(name))
	}
	return nil
}

// OpendirHandle begins a listing. The snapshot stays locked until it is closed.
func (n *entry) OpendirHandle(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h := &dirHandle{node: n}
	err := n.tree.use(ctx, func(lease *lease) (err error) {
		if h.dir, err = n.tree.pxar.Dir(n.e); err == nil {
			h.sound, err = h.dir.Searchable()
		}
		if err == nil {
			lease.hold()
			h.lease = lease
		}
		return err
	})
	if err != nil {
		return nil, 0, n.fsys.gone(n.path(), err)
	}
	h.free = h.stop
	h.rewind()
	n.fsys.handles.add(&h.handle)
	return h, 0, 0
}

// dirHandle is an open directory of a tree. It reads entries as they are asked for.
type dirHandle struct {
	handle
	node *entry
	dir  *pxar.Dir
	// sound says that a lookup finds all that has the hash of its name, and no name is there twice.
	sound bool

	next   func() (*pxar.Entry, error, bool)
	end    func()
	offset uint64      // how many were read, "." and ".." included
	last   *pxar.Entry // the one that was given last
	damage error       // the first that could not be read
	hidden int
	reason error // of the first one that is hidden
}

var (
	_ fs.FileReaddirenter = (*dirHandle)(nil)
	_ fs.FileSeekdirer    = (*dirHandle)(nil)
	_ fs.FileReleasedirer = (*dirHandle)(nil)
	_ fs.FileLookuper     = (*dirHandle)(nil)
)

func (h *dirHandle) rewind() {
	h.stop()
	h.next, h.end = iter.Pull2(h.dir.Entries())
	h.offset, h.last, h.damage, h.hidden, h.reason = 0, nil, nil, 0, nil
}

func (h *dirHandle) stop() {
	if h.end != nil {
		h.end()
		h.end = nil
	}
}

// dots is how many entries come before those of the archive: "." and "..".
const dots = 2

func (h *dirHandle) dot() *fuse.DirEntry {
	h.offset++
	e := &fuse.DirEntry{Name: ".", Mode: syscall.S_IFDIR, Ino: h.node.StableAttr().Ino, Off: h.offset}
	if h.offset == dots {
		e.Name, e.Ino = "..", h.node.parentIno()
	}
	return e
}

// Readdirent gives the next entry that can be shown, nil at the end. What is damaged is an error there, behind the others. It
// does not heed interruptions: an error in between would cost the library an entry.
func (h *dirHandle) Readdirent(context.Context) (*fuse.DirEntry, syscall.Errno) {
	if h.offset < dots {
		return h.dot(), 0
	}
	for {
		e, err, more := h.next()
		if !more {
			return nil, h.atEnd()
		}
		h.offset++
		if err == nil {
			e, err = h.check(e)
		}
		if err == nil {
			h.last = e
			t := h.node.tree
			return &fuse.DirEntry{Name: e.Name(), Mode: typeOf(e), Ino: t.base + e.Position()/entrySpace, Off: h.offset}, 0
		}
		h.note(err)
	}
}

// check tells whether an entry can be shown: it is then what a lookup of its name finds. Of a hard link it gives the file.
func (h *dirHandle) check(e *pxar.Entry) (*pxar.Entry, error) {
	if err := unshowable(e.Name()); err != nil {
		return nil, errors.Join(errHidden, err)
	}
	if h.sound && e.Hashed() {
		return h.node.tree.pxar.Resolve(e)
	}
	same, err := h.dir.Lookup(e.Name())
	switch {
	case errors.Is(err, pxar.ErrNotFound):
		return nil, fmt.Errorf("%w: the table of the directory does not lead to %q", errHidden, e.Path)
	case err != nil:
		return nil, err
	case same.Position() != e.Position():
		return nil, fmt.Errorf("%w: the name %q is there twice", errHidden, e.Path)
	}
	return h.node.tree.pxar.Resolve(e)
}

var errHidden = errors.New("can't be shown")

func (h *dirHandle) note(err error) {
	if !errors.Is(err, errHidden) && !errors.Is(err, pxar.ErrCorrupt) {
		if h.damage == nil {
			h.damage = err
		}
		return
	}
	if h.hidden++; h.reason == nil {
		h.reason = err
	}
}

func (h *dirHandle) atEnd() syscall.Errno {
	h.node.fsys.problems.hidden(h.node.path(), h.hidden, h.reason)
	h.hidden = 0
	err := h.damage
	h.damage = nil
	if err != nil {
		return h.node.fsys.fail(h.node.path(), err)
	}
	return 0
}

// Lookup finds the entry that was listed last without another look into the archive.
func (h *dirHandle) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if h.last == nil || h.last.Name() != name {
		return h.node.Lookup(ctx, name, out)
	}
	var child *fs.Inode
	err := h.node.tree.use(ctx, func(*lease) error {
		child = h.node.adopt(ctx, h.node.tree.found(h.last), out)
		return nil
	})
	if err != nil {
		return nil, h.node.fsys.gone(h.node.path(), err)
	}
	return child, 0
}

// Seekdir goes to an offset that an entry had.
func (h *dirHandle) Seekdir(_ context.Context, off uint64) syscall.Errno {
	if off < h.offset {
		h.rewind()
	}
	for h.offset < off {
		if h.offset < dots {
			h.offset++
			continue
		}
		if _, _, more := h.next(); !more {
			break
		}
		h.offset++
	}
	return 0
}

// Releasedir closes the directory.
func (h *dirHandle) Releasedir(context.Context, uint32) { h.close() }
