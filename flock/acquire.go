package flock

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

// maxRounds bounds how often an attempt starts over because the name leads to
// another file each time it looks.
const maxRounds = 16

// errMoved is an attempt's way to say: start over.
var errMoved = errors.New("the name leads to another file")

// calls are the system calls of one attempt. They are a value so that tests can
// let each of them fail as a network file system would.
type calls struct {
	kind  Kind
	open  func(Ref, Mode) (fd int, err error)
	lock  func(fd int, m Mode) error
	fstat func(fd int, st *unix.Stat_t) error
	stat  func(Ref, *unix.Stat_t) error
	who   func(fd int, id ident, k Kind, m Mode) []Holder
}

// ident tells one file of this kernel from all others.
type ident struct{ dev, ino uint64 }

func identOf(st *unix.Stat_t) ident { return ident{uint64(st.Dev), st.Ino} }

// acquire makes one attempt that counts: what it says, also "busy", is about the
// file that the name leads to now.
func (c calls) acquire(ref Ref, mode Mode) (*lock, error) {
	for range maxRounds {
		l, err := c.attempt(ref, mode)
		if !errors.Is(err, errMoved) {
			return l, err
		}
	}
	return nil, pathError("lock", ref.String(), ErrChanged)
}

func (c calls) attempt(ref Ref, mode Mode) (*lock, error) {
	fd, err := c.open(ref, mode)
	if err != nil {
		return nil, movedIf(errnoOf(err) == unix.ESTALE, err)
	}
	id, err := c.lockFile(fd, ref, mode)
	if err == nil {
		return hold(fd, ref, id), nil
	}
	if err == unix.EWOULDBLOCK {
		err = &LockedError{Path: ref.String(), Mode: mode, Holders: c.who(fd, id, c.kind, mode)}
	}
	unix.Close(fd)
	return nil, err
}

// lockFile locks the open file and makes sure that ref leads to it. The look at
// the path comes after the lock: before, it would prove nothing. It is taken for
// a busy file as well, because a file that was renamed away for its removal is
// busy for the remover only, while the name is free, or gone.
func (c calls) lockFile(fd int, ref Ref, mode Mode) (ident, error) {
	locked := again(func() error { return c.lock(fd, mode) })
	if locked != nil && locked != unix.EWOULDBLOCK {
		return ident{}, movedIf(locked == unix.ESTALE, classify(c.kind, ref, locked))
	}
	var own, now unix.Stat_t
	if err := again(func() error { return c.fstat(fd, &own) }); err != nil {
		return ident{}, movedIf(err == unix.ESTALE, pathError("fstat", ref.String(), err))
	}
	if err := c.stat(ref, &now); err != nil {
		return ident{}, movedIf(gone(err), err)
	}
	if own.Nlink == 0 || identOf(&own) != identOf(&now) {
		return ident{}, errMoved
	}
	return identOf(&own), locked
}

// gone tells whether a look at a path failed in a way in which the next open
// says better what is there now.
func gone(err error) bool {
	switch errnoOf(err) {
	case unix.ENOENT, unix.ESTALE, unix.ENOTDIR:
		return true
	}
	return errors.Is(err, beneath.ErrSymlink)
}

func movedIf(moved bool, err error) error {
	if moved {
		return errMoved
	}
	return err
}
