package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
)

// Mount is a mounted file system. It lasts until somebody unmounts it, and no longer than the process.
type Mount struct {
	fsys  *filesystem
	point string
	id    string        // the kernel's number of the mount
	done  chan struct{} // closed when it is over and everything was given back

	mu   sync.Mutex
	gone bool // taken out of the tree by us
}

// New mounts a datastore, or a part of it, on an empty directory that is neither in the store nor
// above it. The error is [ErrPoint] or [ErrNoFUSE], an *fs.PathError, or, where a snapshot is given, one of
// opening it and its archive: a wrong key, say, is told before anything is mounted.
//
// The context is not for how long it lasts: see [Mount.Wait].
func New(ctx context.Context, path string, store *datastore.Datastore, opts Options) (*Mount, error) {
	point, err := preparePoint(path, store.Path(), opts.Events.Cleared)
	if err != nil {
		return nil, err
	}
	f := newFilesystem(ctx, store, opts)
	root, err := f.root(ctx)
	if err != nil {
		f.close()
		return nil, err
	}
	m := &Mount{fsys: f, point: point, done: make(chan struct{})}
	if err := m.serve(root); err != nil {
		f.close()
		return nil, err
	}
	return m, nil
}

// root is the node that is mounted.
func (f *filesystem) root(ctx context.Context) (fs.InodeEmbedder, error) {
	if f.opts.Snapshot == nil {
		l := namespaceLevel{f, f.opts.Namespace}
		at, err := l.there(ctx)
		return f.dir(l, at).node, err
	}
	l := snapshotLevel{fsys: f, snapshot: *f.opts.Snapshot, only: f.opts.Archive}
	var tree fs.InodeEmbedder
	err := l.with(ctx, func(lease *lease, all []shown) error {
		if f.opts.Archive.File() == "" {
			return nil
		}
		if len(all) == 0 {
			_, err := lease.open(ctx, f.opts.Archive) // which tells what there is
			return err
		}
		s := all[0]
		what, err := f.open(ctx, lease, s)
		if err == nil && !s.tree {
			_, err = lease.open(ctx, s.file) // so that a missing key is told now
		}
		if s.tree {
			tree = what.node
		}
		return err
	})
	if tree != nil || err != nil {
		return tree, err
	}
	return f.dir(l, time.Time{}).node, nil
}

func (m *Mount) serve(root fs.InodeEmbedder) error {
	fd, err := attach(m.point, "pbs-like:"+m.fsys.store.Path(), m.fsys.opts)
	if err != nil {
		return err
	}
	raw := fs.NewNodeFS(root, &fs.Options{NullPermissions: true})
	server, err := fuse.NewServer(raw, fmt.Sprintf("/dev/fd/%d", fd), &fuse.MountOptions{
		MaxWrite: maxRead, MaxBackground: 64, ExplicitDataCacheControl: true, Logger: silence(), Name: subtype,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("mount on %q: %w", m.point, err), detach(m.point))
	}
	go func() {
		defer close(m.done)
		server.Serve()
		m.fsys.close()
	}()
	if had, ok, err := mountedAt(m.point); err == nil && ok && had.kind == fsType {
		m.id = had.id
	}
	endPolls(m.point)
	readAhead(m.point)
	return nil
}

// readAhead lets the kernel ask for as much at a time as it can: each request costs two switches between
// processes. Only root may say so; others are served in pieces of 128 KiB.
func readAhead(point string) {
	var st unix.Stat_t
	if err := unix.Stat(point, &st); err != nil {
		return
	}
	f, err := os.OpenFile(fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(st.Dev), unix.Minor(st.Dev)), os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close() // without it reading is slower
	_, _ = fmt.Fprint(f, maxRead>>10)
}

// endPolls asks once for what the kernel would ask for whenever this process itself opens a file
// in the mount, while no other thread may be there to answer. The library answers that there is no such thing.
func endPolls(point string) {
	fd, err := unix.Open(point+"/.go-fuse-epoll-hack", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, 0) // that it fails is the point
	_ = unix.Close(fd)
}

// Point is the path of the mount point, without links.
func (m *Mount) Point() string { return m.point }

// Done is closed when the file system is not there any more, whoever unmounted it, and all that it had
// opened and locked was given back.
func (m *Mount) Done() <-chan struct{} { return m.done }

// Wait returns nil when somebody has unmounted the file system, and else the cause of the context's end.
func (m *Mount) Wait(ctx context.Context) error {
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unmount takes the file system away and waits until everything was given back. It is
// [ErrBusy] while something in it is open or somebody's working directory. A second one does nothing.
func (m *Mount) Unmount() error { return m.takeAway(unmount, true) }

// Detach takes the file system out of the tree at once. What is open in it can be used until it is closed:
// see [Mount.Done].
func (m *Mount) Detach() error { return m.takeAway(detach, false) }

// Close unmounts, and where that is not possible detaches: what is open then ends with the process at the latest.
func (m *Mount) Close() error {
	err := m.Unmount()
	if errors.Is(err, ErrBusy) {
		return m.Detach()
	}
	return err
}

func (m *Mount) takeAway(how func(string) error, wait bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over() {
		return nil
	}
	// Another one may have unmounted it, and mounted something else there.
	if had, ok, err := mountedAt(m.point); err != nil {
		return err
	} else if !m.gone && ok && had.id == m.id {
		if err := m.tries(how); err != nil {
			return err
		}
		m.gone = true
	}
	if wait {
		<-m.done
	}
	return nil
}

// tries gives the kernel a moment: a file that was just closed is in use for an instant more.
func (m *Mount) tries(how func(string) error) error {
	for wait := 5 * time.Millisecond; ; wait *= 2 {
		err := how(m.point)
		if !errors.Is(err, ErrBusy) || wait > 100*time.Millisecond {
			return err
		}
		time.Sleep(wait)
	}
}

func (m *Mount) over() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}
