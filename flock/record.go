package flock

import (
	"golang.org/x/sys/unix"
)

// TryRecordShared takes an open-file-description record lock over the whole of a
// regular file, whatever its size. It conflicts with the classic record locks
// (F_SETLK, lockf) of other programs, and with flock(2) of nobody. Unlike a
// classic one it is not lost when the process closes another descriptor of the
// file, and it excludes other goroutines too. Read permission is enough.
//
// The errors are those of [TryShared].
func TryRecordShared(ref Ref) (*SharedGuard, error) {
	l, err := recordCalls().acquire(ref, Shared)
	if err != nil {
		return nil, err
	}
	return &SharedGuard{l}, nil
}

// TryRecordExclusive is [TryRecordShared] for a lock that nobody else may hold.
// The file has to be writable.
func TryRecordExclusive(ref Ref) (*ExclusiveGuard, error) {
	l, err := recordCalls().acquire(ref, Exclusive)
	if err != nil {
		return nil, err
	}
	return &ExclusiveGuard{l}, nil
}

func recordCalls() calls {
	return calls{
		kind:  OFD,
		open:  openRecord,
		lock:  recordFD,
		fstat: unix.Fstat,
		stat:  Ref.stat,
		who:   conflicting,
	}
}

func openRecord(r Ref, m Mode) (int, error) {
	if m == Exclusive {
		return r.openRegular(unix.O_RDWR)
	}
	return r.openRegular(unix.O_RDONLY)
}

func recordFD(fd int, m Mode) error {
	// Start and length 0: from the first byte to wherever the file ends.
	whole := unix.Flock_t{Type: unix.F_RDLCK, Whence: unix.SEEK_SET}
	if m == Exclusive {
		whole.Type = unix.F_WRLCK
	}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &whole)
}
