package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

// The prefixes of one lock, of which only the first decides anything.
const (
	locks = "locks"
	queue = "queue"
	probe = "probe"
)

// Retire removes a directory below this one in which a lock was that nobody needs any more, such as that of
// something that is gone, and tells whether it did. Where anybody has the lock, or is about to, it stays.
// Tickets of those who wait, and what writers that died have left, go with it: nothing that counts. Who
// comes at the same moment fails to store an object, and makes the directory anew at the next try.
func (s *Store) Retire(ctx context.Context, name string) (removed bool, err error) {
	lock := &Store{root: s.root, sub: path.Join(s.sub, name), disk: s.disk}
	if held, err := lock.List(ctx, locks); err != nil || len(held) > 0 {
		return false, err
	}
	for _, prefix := range []string{queue, probe, locks} {
		if err := lock.clear(prefix, prefix != locks); err != nil {
			return false, stays(err)
		}
	}
	above, err := beneath.OpenDir(s.root, s.sub)
	if err != nil {
		return false, err
	}
	defer above.Close()
	err = s.disk.Rmdir(above, name)
	return err == nil, stays(err)
}

// stays is nil where something was put into a directory meanwhile, or somebody else has removed it.
func stays(err error) error {
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// clear removes the directory of a prefix with what is temporary in it, or all of its files.
func (s *Store) clear(prefix string, all bool) error {
	dir, err := s.open(prefix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !all && !strings.HasSuffix(name, tempSuffix) {
			continue
		}
		if err := s.disk.Remove(dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.rmdir(prefix)
}

func (s *Store) rmdir(prefix string) error {
	above, err := s.open(".")
	if err != nil {
		return err
	}
	return errors.Join(s.disk.Rmdir(above, prefix), above.Close())
}
