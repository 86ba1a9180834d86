package pbsrun

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// attempts bounds how often a lock file is made anew that somebody removed.
const attempts = 16

// Lock is a lock file of the server that is held. Closing it again does nothing.
type Lock struct {
	store *Store
	name  string
	guard io.Closer
}

// Lock locks the file of that name, as [LockName] and the others give it, and
// makes it if it is not there. It does not wait: the error is a *flock.LockedError
// while somebody has it.
func (s *Store) Lock(name string, mode flock.Mode) (*Lock, error) {
	l := &Lock{store: s, name: name}
	err := s.inLocksDir(name, func(disk *fsop.Disk, dir *os.File, base string) (err error) {
		l.guard, err = lockFile(disk, dir, base, mode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// inLocksDir opens the directory of a lock file for the length of a call: many locks
// are held at once, and each has one descriptor.
func (s *Store) inLocksDir(name string, do func(disk *fsop.Disk, dir *os.File, base string) error) error {
	disk, err := s.disk()
	if err != nil {
		return err
	}
	dir, err := s.locksDir(disk, path.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(do(disk, dir, path.Base(name)), dir.Close())
}

func lockFile(disk *fsop.Disk, dir *os.File, name string, mode flock.Mode) (guard io.Closer, err error) {
	ref := flock.Ref{Dir: dir, Name: name}
	for range attempts {
		if guard, err = tryFile(ref, mode); !errors.Is(err, fs.ErrNotExist) {
			return guard, err
		}
		if err := makeFile(disk, dir, name); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("lock file %q comes and goes: %w", ref, err)
}

func tryFile(ref flock.Ref, mode flock.Mode) (io.Closer, error) {
	// A directory could be locked as well, and would exclude nobody.
	st, err := beneath.Stat(ref.Dir, ref.Name)
	if err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil, &fs.PathError{Op: "lock", Path: ref.String(), Err: unix.EISDIR}
	}
	if mode == flock.Shared {
		return closer(flock.TryShared(ref))
	}
	return closer(flock.TryExclusive(ref))
}

// closer keeps a guard that is nil from becoming a value that is not.
func closer[G io.Closer](guard G, err error) (io.Closer, error) {
	if err != nil {
		return nil, err
	}
	return guard, nil
}

// File is the open file that carries the lock.
func (l *Lock) File() *os.File {
	if guard, ok := l.guard.(interface{ File() *os.File }); ok {
		return guard.File()
	}
	return nil
}

// Remove unlinks the lock file, once what it locks is gone. Only who holds it
// exclusively may do so. The lock stays until it is closed.
func (l *Lock) Remove() error {
	return l.store.inLocksDir(l.name, func(disk *fsop.Disk, dir *os.File, base string) error {
		if err := disk.Remove(dir, base); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// Close releases the lock.
func (l *Lock) Close() error {
	if l == nil || l.guard == nil {
		return nil
	}
	err := l.guard.Close()
	l.guard = nil
	return err
}

// Discard removes the lock file of something that is gone, if there is one and
// nobody has it.
func (s *Store) Discard(name string) error {
	exists, err := s.has(name)
	if err != nil || !exists {
		return err
	}
	lock, err := s.Lock(name, flock.Exclusive)
	if errors.Is(err, flock.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(lock.Remove(), lock.Close())
}

func (s *Store) has(name string) (bool, error) {
	full := path.Join(s.server.opts.Run, "locks", s.Name, name)
	var st unix.Stat_t
	switch err := unix.Lstat(full, &st); err {
	case nil:
		return true, nil
	case unix.ENOENT, unix.ENOTDIR:
		return false, nil
	default:
		return false, &fs.PathError{Op: "stat", Path: full, Err: err}
	}
}

// RemoveOldDirectory takes away a directory of old lock files in which nothing is
// left, named as in the datastore. That it is not there, or not empty, is no error.
func (s *Store) RemoveOldDirectory(name string) error {
	disk, err := s.disk()
	if err != nil {
		return err
	}
	above, err := os.OpenFile(path.Join(s.server.opts.Run, "locks", s.Name), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer above.Close()
	parent, err := beneath.OpenDir(above, path.Dir(name))
	if err == nil {
		defer parent.Close()
		err = disk.Rmdir(parent, path.Base(name))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}
