package mount

import (
	"context"
	"io"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// archiveFile is an archive that is shown as one file.
type archiveFile struct {
	node
	id   archiveID
	size uint64
}

var (
	_ fs.NodeGetattrer = (*archiveFile)(nil)
	_ fs.NodeOpener    = (*archiveFile)(nil)
	_ fs.NodeStatfser  = (*archiveFile)(nil)
)

// openFile finds out the size of the file: of a blob, the manifest has only that of its stored form.
func (f *filesystem) openFile(ctx context.Context, lease *lease, s shown) (found, error) {
	id, err := lease.identify(ctx, s.file)
	if err != nil {
		return found{}, err
	}
	size := id.size
	if s.file.Kind() == backupinfo.Blob {
		a, err := lease.archive(ctx, id)
		if err != nil {
			return found{}, err
		}
		size = a.archive.Size()
	}
	n := &archiveFile{node: node{fsys: f}, id: id, size: size}
	return found{node: n, ino: f.inodes.one(id.key()), attr: n.attr()}, nil
}

// key tells an archive from all others, also from one that has its name later.
func (id archiveID) key() string { return id.String() + "\x00" + id.checksum.String() }

func (n *archiveFile) attr() fuse.Attr {
	return n.fsys.own(syscall.S_IFREG|0o400, n.id.snapshot.Time.Clock(), n.size)
}

// Getattr tells about the file, if it is still there.
func (n *archiveFile) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	lease, err := n.fsys.leases.acquire(ctx, n.id.snapshot)
	if err != nil {
		return n.fsys.gone(n.id.String(), err)
	}
	defer lease.release(0)
	if err := lease.same(n.id); err != nil {
		return n.fsys.gone(n.id.String(), err)
	}
	out.Attr = n.attr()
	return 0
}

// Open opens the archive, which stays locked until the file is closed.
func (n *archiveFile) Open(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	lease, err := n.fsys.leases.acquire(ctx, n.id.snapshot)
	if err != nil {
		return nil, 0, n.fsys.gone(n.id.String(), err)
	}
	a, err := lease.archive(ctx, n.id)
	if err != nil {
		lease.release(0)
		return nil, 0, n.fsys.gone(n.id.String(), err)
	}
	return n.fsys.handle(lease, a, n.id.String(), 0, n.size), 0, 0
}

// fileHandle is an open file: a range of an archive.
type fileHandle struct {
	handle
	fsys        *filesystem
	archive     *openArchive
	path        string
	start, size uint64
	ahead       ahead
}

var (
	_ fs.FileReader   = (*fileHandle)(nil)
	_ fs.FileReleaser = (*fileHandle)(nil)
)

// handle makes an open file, which takes over the use of the lease.
func (f *filesystem) handle(lease *lease, a *openArchive, path string, start, size uint64) *fileHandle {
	h := &fileHandle{handle: handle{lease: lease}, fsys: f, archive: a, path: path, start: start, size: size}
	f.handles.add(&h.handle)
	return h
}

// Read reads as much as there is. It never gives less than that without an error.
func (h *fileHandle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if off < 0 || uint64(off) >= h.size {
		return fuse.ReadResultData(nil), 0
	}
	dest = dest[:min(uint64(len(dest)), h.size-uint64(off))]
	err := h.lease.check(time.Now())
	if err == nil {
		err = h.readFull(ctx, dest, h.start+uint64(off))
	}
	if err != nil {
		return nil, h.fsys.fail(h.path, err)
	}
	return fuse.ReadResultData(dest), 0
}

func (h *fileHandle) readFull(ctx context.Context, dest []byte, at uint64) error {
	n, err := h.fsys.cache.readAt(ctx, h.archive, dest, int64(at))
	if n < len(dest) {
		if err == nil || err == io.EOF { //nolint:errorlint // it is not wrapped
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	h.ahead.advance(h.fsys.cache, h.archive, at, uint64(n))
	return nil
}

// Release closes the file.
func (h *fileHandle) Release(context.Context) syscall.Errno {
	h.close()
	return 0
}
