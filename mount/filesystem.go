package mount

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
)

// filesystem is what all nodes of a mount share.
type filesystem struct {
	store    *datastore.Datastore
	opts     Options
	leases   *leases
	cache    *cache
	inodes   *inodes
	problems *problems
	handles  *handles
	examples sync.Map // a group of each type that was looked for, by path
	uid, gid uint32
	started  time.Time
	// keep is for how long the kernel may remember what it was told of something in a tree. What is
	// above it asks for each time, so that nothing that was removed is there any more.
	keep time.Duration
}

func newFilesystem(ctx context.Context, store *datastore.Datastore, opts Options) *filesystem {
	f := &filesystem{
		store: store, opts: opts, inodes: newInodes(), handles: newHandles(), problems: newProblems(opts.Events),
		cache: newCache(opts.cache()), uid: uint32(unix.Geteuid()), gid: uint32(unix.Getegid()), started: time.Now(),
		keep: opts.idle() / 2,
	}
	f.leases = newLeases(ctx, store, datastore.ReadOptions{Key: opts.Key}, opts.idle())
	f.leases.empty, f.leases.errs = f.cache.clear, f.problems.report
	return f
}

// close ends what requests have begun. There are none any more.
func (f *filesystem) close() {
	f.handles.closeAll()
	f.leases.closeAll()
}

// node is the part that all nodes have.
type node struct {
	fs.Inode
	fsys *filesystem
}

// fail turns an error into a number, and tells about it where the number does not say enough.
func (f *filesystem) fail(path string, err error) syscall.Errno {
	errno := errnoOf(err)
	if !isOrdinary(errno) {
		f.problems.report(path, err)
	}
	return errno
}

// Statfs tells of a file system that is full, as one is that can't be written to.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, 255
	return 0
}

// own are the attributes of what belongs to who mounted it.
func (f *filesystem) own(mode uint32, at time.Time, size uint64) fuse.Attr {
	attr := fuse.Attr{Mode: mode, Nlink: 1, Owner: fuse.Owner{Uid: f.uid, Gid: f.gid}}
	setSize(&attr, size)
	setTimes(&attr, at.Unix(), uint32(at.Nanosecond()))
	return attr
}

// setSize also says how much room it takes: programs take a file without any for one of zeros.
func setSize(attr *fuse.Attr, size uint64) {
	attr.Size, attr.Blksize, attr.Blocks = size, 4096, size/512+min(size%512, 1)
}

func setTimes(attr *fuse.Attr, seconds int64, nanoseconds uint32) {
	nanoseconds = min(nanoseconds, 999_999_999)
	attr.Atime, attr.Mtime, attr.Ctime = uint64(seconds), uint64(seconds), uint64(seconds)
	attr.Atimensec, attr.Mtimensec, attr.Ctimensec = nanoseconds, nanoseconds, nanoseconds
}
