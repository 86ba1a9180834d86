package mount

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
)

// tree is a directory tree in an archive, or a pair of archives.
type tree struct {
	fsys    *filesystem
	entries archiveID
	payload archiveID // zero where there is none
	pxar    *pxar.Archive
	base    uint64 // the first of its inode numbers
	links   links
}

// openTree opens the archive and its root.
func (f *filesystem) openTree(ctx context.Context, lease *lease, s shown) (found, error) {
	t := &tree{fsys: f}
	var err error
	if t.entries, err = lease.identify(ctx, s.file); err != nil {
		return found{}, err
	}
	if err := lease.identifyPayload(ctx, t); err != nil {
		return found{}, err
	}
	if _, err := lease.archive(ctx, t.entries); err != nil {
		return found{}, err
	}
	opts := pxar.OpenOptions{}
	if t.payload.listed {
		opts = pxar.OpenOptions{Payload: f.source(t.payload), PayloadSize: int64(t.payload.size)}
	}
	if t.pxar, err = pxar.Open(f.source(t.entries), int64(t.entries.size), opts); err != nil {
		return found{}, err
	}
	root, err := t.pxar.Root()
	if err != nil {
		return found{}, err
	}
	if root.Kind != pxar.Directory {
		return found{}, errNoDirectory
	}
	t.base = f.inodes.span(t.entries.key()+"\x00"+t.payload.key(), t.entries.size)
	return t.found(root), nil
}

var errNoDirectory = errors.New("the root of the archive is no directory")

// identifyPayload finds the other half. Where it is missing, names can be read, and no contents.
func (l *lease) identifyPayload(ctx context.Context, t *tree) error {
	base, split := strings.CutSuffix(t.entries.name.File(), entriesSuffix)
	if !split {
		return nil
	}
	if _, listed := l.reader.Manifest().File(base + payloadSuffix); !listed {
		return nil
	}
	name, err := backupinfo.ParseFileName(base + payloadSuffix)
	if err != nil {
		return err
	}
	t.payload, err = l.identify(ctx, name)
	return err
}

func (f *filesystem) source(id archiveID) *source {
	return &source{leases: f.leases, cache: f.cache, id: id}
}

// use locks the snapshot for a request, and makes sure that the archive is still the same. The kernel may
// remember what it is told.
func (t *tree) use(ctx context.Context, do func(*lease) error) error {
	lease, err := t.fsys.leases.acquire(ctx, t.entries.snapshot)
	if err != nil {
		return err
	}
	defer lease.release(t.fsys.keep)
	if err := lease.same(t.entries); err != nil {
		return err
	}
	return do(lease)
}

// entry is the node of an entry of a tree.
type entry struct {
	node
	tree *tree
	e    *pxar.Entry // of a hard link, the file; perhaps without its large attributes
	slim bool        // they were left out
}

var (
	_ fs.NodeLookuper   = (*entry)(nil)
	_ fs.NodeGetattrer  = (*entry)(nil)
	_ fs.NodeReadlinker = (*entry)(nil)
	_ fs.NodeStatfser   = (*entry)(nil)
)

// found makes a node of an entry that is no hard link.
func (t *tree) found(e *pxar.Entry) found {
	n := &entry{node: node{fsys: t.fsys}, tree: t}
	n.e, n.slim = slim(e)
	return found{node: n, ino: t.base + e.Position()/entrySpace, attr: n.attr(), keep: t.fsys.keep}
}

// maxKept is how many bytes of attributes a node keeps: the kernel decides how many nodes there are.
const maxKept = 4 << 10

func slim(e *pxar.Entry) (*pxar.Entry, bool) {
	size := len(e.FCaps) + 16*(len(e.ACL.Users)+len(e.ACL.Groups)+len(e.ACL.DefaultUsers)+len(e.ACL.DefaultGroups))
	for _, x := range e.Xattrs {
		size += len(x.Name) + len(x.Value)
	}
	if size <= maxKept {
		return e, false
	}
	small := *e
	small.Xattrs, small.FCaps, small.ACL = nil, nil, pxar.ACL{}
	return &small, true
}

// path is where the entry is, for messages.
func (n *entry) path() string { return n.tree.entries.String() + n.e.Path }

// Lookup finds an entry of the directory.
func (n *entry) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (child *fs.Inode, errno syscall.Errno) {
	err := n.tree.use(ctx, func(*lease) error {
		dir, err := n.tree.pxar.Dir(n.e)
		if err != nil {
			return err
		}
		e, err := n.tree.find(dir, name)
		if err == nil {
			child = n.adopt(ctx, n.tree.found(e), out)
		}
		return err
	})
	switch {
	case errors.Is(err, pxar.ErrNotFound):
		return nil, syscall.ENOENT
	case errors.Is(err, datastore.ErrNotFound):
		return nil, n.fsys.gone(n.path(), err) // the snapshot, and with it this directory
	case err != nil:
		return nil, n.fsys.fail(n.path()+"/"+name, err)
	}
	return child, 0
}

// find gives the entry that the table leads to; of a hard link, the file.
func (t *tree) find(dir *pxar.Dir, name string) (*pxar.Entry, error) {
	if problem := unshowable(name); problem != nil {
		return nil, pxar.ErrNotFound
	}
	e, err := dir.Lookup(name)
	if err != nil {
		return nil, err
	}
	return t.pxar.Resolve(e)
}

// Getattr tells about the entry, if the archive is still there.
func (n *entry) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	err := n.tree.use(ctx, func(*lease) error {
		out.Attr = n.attr()
		out.SetTimeout(n.fsys.keep)
		return nil
	})
	if err != nil {
		return n.fsys.gone(n.path(), err)
	}
	return 0
}

// Readlink gives the target of a symbolic link, as it is.
func (n *entry) Readlink(ctx context.Context) ([]byte, syscall.Errno) {
	err := n.tree.use(ctx, func(*lease) error {
		if strings.IndexByte(n.e.Target, 0) >= 0 {
			return errTarget
		}
		return nil
	})
	if err != nil {
		return nil, n.fsys.gone(n.path(), err)
	}
	return []byte(n.e.Target), 0
}

var errTarget = errors.New("the target of the symbolic link has a NUL in it")
