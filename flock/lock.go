package flock

import (
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// lock is what both guards hold: an open file that carries a lock.
//
// It owns the bare descriptor, and makes an *os.File of it only when somebody
// asks. That is faster, and the runtime can't close what it does not know.
type lock struct {
	ref Ref
	id  ident

	mu     sync.Mutex // protects what follows
	fd     int
	file   *os.File // nil until asked for
	closed bool
}

// hold makes a lock of an open, locked descriptor.
func hold(fd int, ref Ref, id ident) *lock {
	l := &lock{ref: ref, id: id, fd: fd}
	held.add(l)
	return l
}

func (l *lock) open() *os.File {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil && !l.closed {
		l.file = os.NewFile(uintptr(l.fd), l.ref.String())
	}
	return l.file
}

// close closes and never unlocks: LOCK_UN would take the lock from a process
// that has inherited the file as well.
func (l *lock) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	defer held.remove(l)
	if l.file != nil {
		return l.file.Close()
	}
	if err := unix.Close(l.fd); err != unix.EINTR { // closed even then
		return pathError("close", l.ref.String(), err)
	}
	return nil
}

func (l *lock) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *lock) check(stat func(Ref, *unix.Stat_t) error) error {
	if l.isClosed() {
		return pathError("check lock", l.ref.String(), fs.ErrClosed)
	}
	var now unix.Stat_t
	switch err := stat(l.ref, &now); {
	case err != nil && !gone(err):
		return err
	case err != nil || identOf(&now) != l.id:
		return pathError("check lock", l.ref.String(), ErrChanged)
	}
	return nil
}
