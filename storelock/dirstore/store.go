package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/storelock"
)

// Store is a directory of one lock. It implements [storelock.Backend].
type Store struct {
	root *os.File
	own  bool   // root is ours to close
	sub  string // below root, "." for itself
	disk *fsop.Disk
}

// Options say how a directory is used. The zero value is the real thing.
type Options struct {
	// Disk makes the changes; nil: a plain one. Tests hand one in that fails.
	Disk *fsop.Disk
}

// Open opens the directory of a lock, which must be there. The store has to be closed.
func Open(dir string, opts Options) (*Store, error) {
	root, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	s := New(root, opts)
	s.own = true
	return s, nil
}

// New uses an open directory, which stays the caller's and has to stay open.
func New(root *os.File, opts Options) *Store {
	return &Store{root: root, sub: ".", disk: lenient(opts.Disk)}
}

// Resource is the directory of one of many locks, named after what it is for: two
// resources never have the same one. It is valid as long as s is open.
func (s *Store) Resource(name string) *Store {
	return &Store{root: s.root, sub: path.Join(s.sub, storelock.ResourceDir(name)), disk: s.disk}
}

// Close closes the directory if Open has opened it.
func (s *Store) Close() error {
	if !s.own {
		return nil
	}
	return s.root.Close()
}

// String is the path of the directory.
func (s *Store) String() string { return path.Join(s.root.Name(), s.sub) }

// lenient adds to a disk that permissions and owners of our objects need not be
// what we want: FAT, CIFS and FUSE mounts often know neither, and who is no
// member of the group can't give it away. The lock works without.
func lenient(d *fsop.Disk) *fsop.Disk {
	var l fsop.Disk
	if d != nil {
		l = *d
	}
	after := l.After
	l.After = func(c fsop.Change, result error) error {
		if after != nil {
			result = after(c, result)
		}
		if c.Op == fsop.OpChmod || c.Op == fsop.OpChown {
			for _, e := range []unix.Errno{unix.EPERM, unix.ENOTSUP, unix.ENOSYS, unix.EINVAL} {
				if errors.Is(result, e) {
					return nil
				}
			}
		}
		return result
	}
	return &l
}

// maxNames is how many entries of a directory are read: more are no locks, and a
// listing that is too long for the memory helps nobody.
const maxNames = 100_000

// List returns the names of what may be an object.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	dir, err := s.open(prefix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.there()
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var keys []string
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if isObject(name) {
				keys = append(keys, name)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return keys, nil
		case err != nil:
			return nil, err
		case len(keys) > maxNames:
			return nil, fmt.Errorf("%q has more than %d entries: that is no directory of locks", dir.Name(), maxNames)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
	}
}

// there tells a store that has no objects yet from one that is gone, or is not mounted.
func (s *Store) there() error {
	st, err := beneath.Stat(s.root, ".")
	if err != nil {
		return err
	}
	if st.Nlink == 0 {
		return &fs.PathError{Op: "list", Path: s.root.Name(), Err: fs.ErrNotExist}
	}
	return nil
}

// isObject leaves out what is being written, and what the original has put away.
func isObject(name string) bool {
	return !strings.HasSuffix(name, tempSuffix) && !strings.HasSuffix(name, putAside)
}

func (s *Store) open(prefix string) (*os.File, error) {
	return beneath.OpenDir(s.root, path.Join(s.sub, prefix))
}

// Load reads a regular file.
func (s *Store) Load(_ context.Context, name string) ([]byte, error) {
	f, err := beneath.OpenRegular(s.root, path.Join(s.sub, name))
	if err != nil {
		return nil, notFound(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, storelock.MaxObject+1))
	if err != nil {
		return nil, notFound(err)
	}
	if len(data) > storelock.MaxObject {
		return nil, &fs.PathError{Op: "load", Path: path.Join(s.String(), name), Err: storelock.ErrTooLarge}
	}
	return data, nil
}

// notFound adds what the package storelock looks for. ESTALE is what NFS says of a
// file that was removed while we had it open.
func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESTALE) {
		return fmt.Errorf("%w: %w", storelock.ErrNotFound, err)
	}
	return err
}

// putAside ends the name that a directory gets which has something in it: it was no
// lock, and what is in it is not ours to destroy. Nobody takes it for an object
// then, neither we nor the original.
const putAside = ".del"

// Delete removes whatever has the name. A directory that is not empty is renamed:
// what is in it stays, and it is no object any more.
func (s *Store) Delete(_ context.Context, name string) error {
	prefix, key := path.Split(name)
	dir, err := s.open(path.Clean(prefix))
	if err != nil {
		return notFound(err)
	}
	defer dir.Close()
	err = s.disk.Remove(dir, key)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) && isDir(dir, key) {
		return s.deleteDir(dir, key)
	}
	return notFound(err)
}

func isDir(dir *os.File, name string) bool {
	st, err := beneath.Stat(dir, name)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func (s *Store) deleteDir(dir *os.File, key string) error {
	err := s.disk.Rmdir(dir, key)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EBUSY) {
		const room = 200 // for a name with what is added
		err = s.disk.Rename(dir, key, dir, key[:min(len(key), room)]+"."+randomName()+putAside)
	}
	return notFound(err)
}
