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
	disk  *fsop.Disk
	dir   *os.File
	name  string
	mode  flock.Mode
	guard io.Closer
}

// Lock locks the file of that name, as [LockName] and the others give it, and
// makes it if it is not there. It does not wait: the error is a *flock.LockedError
// while somebody has it.
func (s *Store) Lock(name string, mode flock.Mode) (*Lock, error) {
	disk, err := s.disk()
	if err != nil {
		return nil, err
	}
	dir, err := s.locksDir(disk, path.Dir(name))
	if err != nil {
		return nil, err
	}
	l := &Lock{disk: disk, dir: dir, name: path.Base(name), mode: mode}
	if l.guard, err = lockFile(disk, dir, l.name, mode); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return l, nil
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

// Exclusive tells whether nobody else has the lock.
func (l *Lock) Exclusive() bool { return l.mode == flock.Exclusive }

// Path is the path of the lock file, for messages.
func (l *Lock) Path() string { return path.Join(l.dir.Name(), l.name) }

// Remove unlinks the lock file, once what it locks is gone. Only who holds it
// exclusively may do so. The lock stays until it is closed.
func (l *Lock) Remove() error {
	if err := l.disk.Remove(l.dir, l.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close releases the lock.
func (l *Lock) Close() error {
	if l == nil || l.guard == nil {
		return nil
	}
	err := errors.Join(l.guard.Close(), l.dir.Close())
	l.guard = nil
	return err
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
