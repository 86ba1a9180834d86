package extractor

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/pxar"
)

// directory is one that the walk is in, or in which workers still make something.
type directory struct {
	run    *run
	parent *directory
	entry  *pxar.Entry

	// The walk's own.
	greatest string // name so far
	ended    bool   // the name that comes last, out of order, has come
	selected bool   // not only on the way to what is
	fresh    bool   // it was made now, and nobody else has put anything into it
	depth    int
	reserved map[string]bool // names of entries that look like temporary ones

	mu       sync.Mutex
	made     bool
	fd       int // -1 while it is parked
	dev, ino uint64
	uses     int // by workers
	left     bool
}

// openDepth is how many directories on the way down are open; those above are opened again on the way back.
const openDepth = 64

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// make makes the directory, and before it those on the way to it.
func (d *directory) make() error {
	if d.made {
		return nil
	}
	if err := d.parent.make(); err != nil {
		return err
	}
	if err := d.parent.fresher(d.entry); err != nil {
		return err
	}
	err := again(func() error { return unix.Mkdirat(d.parent.fd, d.entry.Name(), 0o700) })
	switch {
	case err == nil:
		d.fresh = true
	case err != unix.EEXIST:
		return &fs.PathError{Op: "mkdir", Path: d.entry.Path, Err: err}
	case !d.run.opts.AllowExistingDirs || d.parent.isOutOfOrder(d.entry):
		return exists(d.parent.job(d.entry))
	}
	fd, err := d.enter()
	if err != nil {
		return err
	}
	return d.opened(fd)
}

// enter opens the directory below its parent, whatever permissions somebody who owns it has left himself.
func (d *directory) enter() (fd int, err error) {
	name := d.entry.Name()
	open := func() error {
		fd, err = unix.Openat(d.parent.fd, name, dirFlags, 0)
		return err
	}
	if err := again(open); err == unix.EACCES && d.applies() {
		if err := allow(d.parent.fd, name); err != nil {
			return -1, &fs.PathError{Op: "open", Path: d.entry.Path, Err: err}
		}
		err = again(open)
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: d.entry.Path, Err: err}
		}
		return fd, nil
	} else if err == unix.ENOTDIR || err == unix.ELOOP {
		return -1, exists(d.parent.job(d.entry))
	} else if err != nil {
		return -1, &fs.PathError{Op: "open", Path: d.entry.Path, Err: err}
	}
	return fd, nil
}

// allow lets the owner into a directory, which gets its permissions at the end.
func allow(parent int, name string) error {
	pin, err := unix.Openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pin)
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", pin), 0o700)
}

// opened takes the descriptor over.
func (d *directory) opened(fd int) error {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		unix.Close(fd)
		return &fs.PathError{Op: "stat", Path: d.entry.Path, Err: err}
	}
	if !d.fresh && d.run.keepsOut(fd) {
		unix.Close(fd)
		return fmt.Errorf("%w: it is kept out of", ErrExists)
	}
	if !d.fresh && d.applies() && st.Mode&0o700 != 0o700 && !d.run.root {
		_ = unix.Fchmod(fd, st.Mode&0o7777|0o700) // else the next step says what is wrong
	}
	d.mu.Lock()
	d.made, d.fd, d.dev, d.ino = true, fd, uint64(st.Dev), st.Ino //nolint:unconvert // 32 bits on some architectures
	d.mu.Unlock()
	if d.depth > openDepth {
		d.above(openDepth).park()
	}
	d.run.change(func(s *Stats) { s.Directories++ })
	return nil
}

// keepsOut compares a directory with those that are the caller's.
func (r *run) keepsOut(fd int) bool {
	if len(r.opts.KeepOut) == 0 {
		return false
	}
	info, err := os.Stat(fmt.Sprintf("/proc/self/fd/%d", fd))
	return err != nil || slices.ContainsFunc(r.opts.KeepOut, func(other os.FileInfo) bool { return os.SameFile(info, other) })
}

func (d *directory) above(levels int) *directory {
	for ; levels > 0; levels-- {
		d = d.parent
	}
	return d
}

// park closes the descriptor, unless a worker needs it.
func (d *directory) park() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.uses == 0 && d.fd >= 0 && d.parent != nil {
		unix.Close(d.fd)
		d.fd = -1
	}
}

// unpark opens a directory again from a child, and makes sure that it is the same.
func (d *directory) unpark(child int) error {
	fd, err := unix.Openat(child, "..", dirFlags, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: d.entry.Path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Ino != d.ino || uint64(st.Dev) != d.dev { //nolint:unconvert // as above
		unix.Close(fd)
		return &fs.PathError{Op: "open", Path: d.entry.Path, Err: ErrMoved}
	}
	d.fd = fd
	return nil
}

// leave is the walk's last step in a directory, and the one in which its parent is opened again. After an error the
// parent is of no use any more.
func (d *directory) leave() (err error) {
	if !d.made {
		return nil
	}
	if d.parent != nil && d.parent.made && d.parent.fd < 0 && d.fd >= 0 {
		err = d.parent.unpark(d.fd)
	}
	d.mu.Lock()
	d.left = true
	idle := d.uses == 0
	d.mu.Unlock()
	if idle {
		d.finish()
	}
	return err
}

func (d *directory) use() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uses++
}

func (d *directory) release() {
	d.mu.Lock()
	d.uses--
	idle := d.left && d.uses == 0
	d.mu.Unlock()
	if idle {
		d.finish()
	}
}

// applies tells whether the directory gets the archive's metadata.
func (d *directory) applies() bool { return d.selected || d.fresh }

// finish gives the directory its metadata, after everything in it.
func (d *directory) finish() {
	if d.fd < 0 { // its child was moved away, and this one can't be found any more
		return
	}
	defer unix.Close(d.fd)
	if !d.applies() || !d.fresh && d.run.opts.Continue && d.run.hasMetadata(d.fd, d.entry, d.run.apply) {
		return
	}
	opts := d.run.applyTo(d.dev)
	opts.IgnoreFlags = d.run.ctx.Err() != nil // they might keep the next run from going on
	d.run.metadataFailed(d.entry.Path, filemeta.Apply(d.fd, &d.entry.Metadata, opts))
}

// applyTo is how metadata is applied to what is on a device.
func (r *run) applyTo(dev uint64) filemeta.ApplyOptions {
	opts := r.apply
	if dev == r.dev {
		opts.FileSystem = r.system
	}
	return opts
}
