package flock

import "os"

// SharedGuard proves that a lock is held which others may hold as well. It is
// used once: after Close it stays closed. It may be used by several goroutines.
type SharedGuard struct{ lock *lock }

// ExclusiveGuard proves that a lock is held which nobody else holds. It is used
// once: after Close it stays closed. It may be used by several goroutines.
type ExclusiveGuard struct{ lock *lock }

// Close lets go of the lock, by closing the file. A second Close, and one of nil,
// does nothing.
func (g *SharedGuard) Close() error {
	if g == nil || g.lock == nil {
		return nil
	}
	return g.lock.close()
}

// File returns the open file that carries the lock, to work relative to it. The
// caller must not close it. After Close it is closed, or nil if it was not asked
// for before.
func (g *SharedGuard) File() *os.File { return g.lock.open() }

// Ref returns what the lock was taken by.
func (g *SharedGuard) Ref() Ref { return g.lock.ref }

// Check returns nil if the name still leads to the locked file, [ErrChanged] if
// it is gone or leads to another one, fs.ErrClosed after Close, or what the
// system said when it was asked.
func (g *SharedGuard) Check() error { return g.lock.check(Ref.stat) }

// Close lets go of the lock, by closing the file. A second Close, and one of nil,
// does nothing.
func (g *ExclusiveGuard) Close() error {
	if g == nil || g.lock == nil {
		return nil
	}
	return g.lock.close()
}

// File returns the open file that carries the lock, to work relative to it. The
// caller must not close it. After Close it is closed, or nil if it was not asked
// for before.
func (g *ExclusiveGuard) File() *os.File { return g.lock.open() }

// Ref returns what the lock was taken by.
func (g *ExclusiveGuard) Ref() Ref { return g.lock.ref }

// Check returns nil if the name still leads to the locked file, [ErrChanged] if
// it is gone or leads to another one, fs.ErrClosed after Close, or what the
// system said when it was asked.
func (g *ExclusiveGuard) Check() error { return g.lock.check(Ref.stat) }
