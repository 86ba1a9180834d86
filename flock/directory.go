package flock

import (
	"errors"

	"golang.org/x/sys/unix"
)

// TryShared locks the directory or regular file with flock(2), unless somebody
// holds it exclusively. It does not wait. After nil, the name led to the locked
// file at a moment when the lock was already held.
//
// The errors: a *LockedError, fs.ErrNotExist if the name is gone, [ErrChanged],
// [ErrUnsupported], beneath.ErrNotRegular for a pipe or a device, or what the
// system said. After an error nothing is held.
func TryShared(ref Ref) (*SharedGuard, error) {
	l, err := flockCalls().acquire(ref, Shared)
	if err != nil {
		return nil, err
	}
	return &SharedGuard{l}, nil
}

// TryExclusive is [TryShared] for a lock that nobody else may hold.
func TryExclusive(ref Ref) (*ExclusiveGuard, error) {
	l, err := flockCalls().acquire(ref, Exclusive)
	if errors.Is(err, unix.EBADF) {
		l, err = flockWritable(ref, err)
	}
	if err != nil {
		return nil, err
	}
	return &ExclusiveGuard{l}, nil
}

func flockCalls() calls {
	return calls{
		kind:  Flock,
		open:  func(r Ref, _ Mode) (int, error) { return r.openAny(unix.O_RDONLY) },
		lock:  flockFD,
		fstat: unix.Fstat,
		stat:  Ref.stat,
		who:   conflicting,
	}
}

// flockWritable is for NFS, which turns a flock into a record lock, for which the
// file has to be open for writing. Where that is not possible either, the first
// answer stands.
func flockWritable(ref Ref, first error) (*lock, error) {
	c := flockCalls()
	c.open = func(r Ref, _ Mode) (int, error) { return r.openRegular(unix.O_RDWR) }
	l, err := c.acquire(ref, Exclusive)
	if err != nil && !errors.Is(err, ErrLocked) {
		return nil, first
	}
	return l, err
}

func flockFD(fd int, m Mode) error {
	how := unix.LOCK_SH
	if m == Exclusive {
		how = unix.LOCK_EX
	}
	return unix.Flock(fd, how|unix.LOCK_NB)
}
