package flock

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// SharedGuard proves that a lock is held which others may hold as well. It is
// used once: after Close it stays closed. It may be used by several goroutines.
type SharedGuard struct{ lock *lock }

// ExclusiveGuard proves that a lock is held which nobody else holds. It is used
// once: after Close it stays closed. It may be used by several goroutines.
type ExclusiveGuard struct{ lock *lock }

// Close lets go of the lock, by closing the file. A second Close, and one of nil,
// does nothing.
func (g *SharedGuard) Close() error {
	if g == nil {
		return nil
	}
	return g.lock.close()
}

// File returns the open file that carries the lock, to work relative to it. The
// caller must not close it.
func (g *SharedGuard) File() *os.File { return g.lock.file }

// Ref returns what the lock was taken by.
func (g *SharedGuard) Ref() Ref { return g.lock.ref }

// Check returns nil if the name still leads to the locked file, [ErrChanged] if
// it is gone or leads to another one, fs.ErrClosed after Close, or what the
// system said when it was asked.
func (g *SharedGuard) Check() error { return g.lock.check(Ref.stat) }

// Close lets go of the lock, by closing the file. A second Close, and one of nil,
// does nothing.
func (g *ExclusiveGuard) Close() error {
	if g == nil {
		return nil
	}
	return g.lock.close()
}

// File returns the open file that carries the lock, to work relative to it. The
// caller must not close it.
func (g *ExclusiveGuard) File() *os.File { return g.lock.file }

// Ref returns what the lock was taken by.
func (g *ExclusiveGuard) Ref() Ref { return g.lock.ref }

// Check returns nil if the name still leads to the locked file, [ErrChanged] if
// it is gone or leads to another one, fs.ErrClosed after Close, or what the
// system said when it was asked.
func (g *ExclusiveGuard) Check() error { return g.lock.check(Ref.stat) }

// lock is what both guards hold.
type lock struct {
	ref  Ref
	mode Mode
	file *os.File
	id   ident
}

// hold makes a lock of an open, locked file.
func hold(f *os.File, ref Ref, mode Mode, id ident) *lock {
	l := &lock{ref: ref, mode: mode, file: f, id: id}
	held.add(l)
	return l
}

// close closes and never unlocks: LOCK_UN would take the lock from a process
// that has inherited the file as well.
func (l *lock) close() error {
	if !held.remove(l) {
		return nil
	}
	return l.file.Close()
}

func (l *lock) check(stat func(Ref, *unix.Stat_t) error) error {
	if !held.has(l) {
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
