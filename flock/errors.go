package flock

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

var (
	// ErrLocked: somebody holds a lock that conflicts. The error is a
	// *LockedError, and waiting may help.
	ErrLocked = errors.New("locked")

	// ErrUnsupported: the file system can't lock this file. Waiting does not
	// help, and it is not known whether anybody uses the file.
	ErrUnsupported = errors.New("locks do not work here")

	// ErrChanged: the name leads to another file than the one that was locked,
	// or did so each of the many times that an attempt started over.
	ErrChanged = errors.New("was replaced by another process meanwhile")
)

// classify gives the error of a lock call its meaning. EWOULDBLOCK never gets
// here. Everything that is not in the list, such as EIO, EACCES or ENOMEM, stays
// what it is: it says nothing about whether somebody holds the lock.
func classify(kind Kind, ref Ref, err error) error {
	switch errnoOf(err) {
	case unix.EBADF, unix.EINVAL, unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP:
		err = fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return pathError(kind.call(), ref.String(), err)
}
