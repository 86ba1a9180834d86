package archiver

import (
	"context"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/exclude"
	"github.com/pbs-like/pbs-like/pxar"
)

// maxOpen is how many of the directories on the way to the current one stay open, besides the root.
const maxOpen = 64

// maxPath bounds the paths of directories: package pxar reads no longer ones.
const maxPath = 64 << 10

// level is a directory on the way to the current one.
type level struct {
	dir     *directory // nil if it was closed because many are open
	where   *place
	inode   Inode
	listing listing
	next    int          // of its entries
	list    exclude.List // the patterns that count in it
	budget  int          // what is left of maxPatterns
}

// walk goes through a tree, depth first in the order of the names, and puts what it finds into
// two channels: all of it in order, and what is to be looked at by a worker.
type walk struct {
	a       *Archiver
	ctx     context.Context
	ordered chan *item
	work    chan *item
	levels  []*level
	count   int    // of the entries of all levels
	path    []byte // of the current directory, kept only while there are patterns
}

func (w *walk) run() (err error) {
	defer func() {
		for _, l := range w.levels {
			l.close()
		}
	}()
	if err := w.root(); err != nil {
		return err
	}
	for len(w.levels) > 0 && err == nil {
		l := w.levels[len(w.levels)-1]
		if l.next < len(l.listing.entries) {
			e := l.listing.entries[l.next]
			l.next++
			err = w.entry(l, string(l.listing.name(e)), e.kind)
		} else {
			err = w.leave()
		}
	}
	return err
}

// root opens the directory once more, so that the caller's descriptor keeps its place.
func (w *walk) root() error {
	var fd int
	err := withFD(w.a.dir, func(root int) (err error) {
		fd, err = openRead(root, ".", unix.O_DIRECTORY)
		return err
	})
	if err != nil {
		return &os.PathError{Op: "openat", Path: w.a.dir.Name(), Err: err}
	}
	l := &level{dir: newDirectory(fd), where: &place{}, list: w.a.patterns, budget: maxPatterns}
	w.levels = []*level{l}
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return &os.PathError{Op: "fstat", Path: w.a.dir.Name(), Err: err}
	}
	l.inode = inodeOf(&st)
	m, err := w.a.metadata(fd, &st, l.where.path)
	if err != nil {
		return fmt.Errorf("%q: %w", w.a.dir.Name(), err)
	}
	if err := w.emit(&item{do: func(s Sink) error { return s.Begin(&m) }}); err != nil {
		return err
	}
	failure, err := w.fill(l)
	if err == nil && failure != nil {
		err = &os.PathError{Op: "getdents", Path: w.a.dir.Name(), Err: failure}
	}
	return err
}

// emit hands an item over, to the workers too if there is something to be loaded.
func (w *walk) emit(it *item) error {
	select {
	case w.ordered <- it:
	case <-w.ctx.Done():
		it.abandon()
		return context.Cause(w.ctx)
	}
	if it.loaded != nil {
		w.work <- it // has room for all that are on their way
	}
	return nil
}

// leaveOut says so when the sink is there, so that what is left out is told in the order of the archive.
func (w *walk) leaveOut(path string, err error) error {
	return w.emit(&item{do: func(Sink) error { return w.a.notes.leaveOut(path, err) }})
}

// warn is the same for what does not concern the walk.
func (w *walk) warn(warning Warning) error {
	return w.emit(&item{do: func(Sink) error {
		w.a.notes.warn(warning)
		return nil
	}})
}

func (w *walk) entry(l *level, name string, kind uint8) error {
	if l.dir == nil {
		return w.leaveOut(l.where.pathOf(name), errMoved)
	}
	if kind == unix.DT_DIR || kind == unix.DT_UNKNOWN {
		entered, err := w.directory(l, name)
		if entered || err != nil {
			return err
		}
	}
	return w.emit(&item{name: name, where: l.where, dir: l.dir.hold(), loaded: make(chan struct{})})
}

// directory enters a directory; what turns out to be none, or to change, is left to the workers.
func (w *walk) directory(l *level, name string) (done bool, err error) {
	st, err := look(l.dir.fd, name)
	switch {
	case err != nil:
		return true, w.leaveOut(l.where.pathOf(name), err)
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return false, nil
	case uint64(st.Dev) != l.inode.Device:
		return true, w.mountPoint(l, name, &st)
	}
	for range attempts {
		fd, now, failure := open(l.dir.fd, name, &st)
		if failure == nil {
			return true, w.enter(l, name, fd, &now, true)
		}
		if kindOf(failure) != Changed {
			return true, w.leaveOut(l.where.pathOf(name), failure)
		}
		if st, err = look(l.dir.fd, name); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || uint64(st.Dev) != l.inode.Device {
			break
		}
	}
	return true, w.leaveOut(l.where.pathOf(name), errChanged)
}

// mountPoint stores another file system, and enters it if that is wanted. Opening only pins it at first, which
// triggers no automatic mount.
func (w *walk) mountPoint(l *level, name string, st *unix.Stat_t) error {
	fd, err := openAt(l.dir.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return w.leaveOut(l.where.pathOf(name), err)
	}
	var now unix.Stat_t
	err = again(func() error { return unix.Fstat(fd, &now) })
	if err == nil && now.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = errChanged
	}
	system, failure := w.a.systems.of(fd, uint64(now.Dev))
	if err == nil {
		err = failure
	}
	if err == nil && system != autofs {
		pin := fd
		fd, now, err = open(pin, ".", &now)
		_ = unix.Close(pin)
	}
	if err != nil {
		closeFD(fd)
		return w.leaveOut(l.where.pathOf(name), err)
	}
	if w.a.mayEnter(uint64(now.Dev), system) {
		return w.enter(l, name, fd, &now, true)
	}
	if err := w.warn(Warning{Kind: MountPoint, Path: l.where.pathOf(name)}); err != nil {
		closeFD(fd)
		return err
	}
	return w.enter(l, name, fd, &now, false)
}

// enter begins a directory, whose descriptor it takes over, with its contents if inside says so.
func (w *walk) enter(l *level, name string, fd int, st *unix.Stat_t, inside bool) error {
	below := &level{
		dir: newDirectory(fd), where: l.where.child(name), inode: inodeOf(st), list: l.list, budget: l.budget,
	}
	m, err := w.a.metadata(fd, st, below.where.path)
	if err != nil {
		below.close()
		return w.leaveOut(below.where.path(), err)
	}
	w.push(below, name)
	if err := w.emit(newDirectoryItem(name, m)); err != nil || !inside {
		return err
	}
	switch {
	case below.where.length > maxPath:
		return w.warn(Warning{Kind: TooDeep, Path: below.where.path()})
	case slices.Contains(w.a.opts.KeepOut, below.inode):
		return w.warn(Warning{Kind: KeptOut, Path: below.where.path()})
	}
	failure, err := w.fill(below)
	if err == nil && failure != nil {
		err = w.leaveOut(below.where.path(), fmt.Errorf("its listing broke off: %w", failure))
	}
	return err
}

func newDirectoryItem(name string, m pxar.Metadata) *item {
	return &item{do: func(s Sink) error { return s.Add(name, &pxar.Entry{Metadata: m, Kind: pxar.Directory}) }, count: countDirectory}
}

func countDirectory(r *Report) { r.Directories++ }

// push goes down, and closes a directory far above, which is opened again on the way back.
func (w *walk) push(l *level, name string) {
	w.levels = append(w.levels, l)
	if far := len(w.levels) - 1 - maxOpen; far > 0 {
		w.levels[far].close()
	}
	w.path = append(append(w.path, '/'), name...)
}

func (w *walk) leave() error {
	last := len(w.levels) - 1
	l := w.levels[last]
	w.levels[last] = nil
	w.levels = w.levels[:last]
	defer l.close()
	if last == 0 {
		return nil
	}
	w.count -= len(l.listing.entries)
	w.path = w.path[:len(w.path)-len("/")-len(l.where.name)]
	if w.levels[last-1].dir == nil {
		w.reopen(l)
	}
	return w.emit(&item{do: Sink.Leave})
}

func (l *level) close() {
	if l.dir != nil {
		l.dir.release()
		l.dir = nil
	}
}

func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd) // only read from
	}
}
