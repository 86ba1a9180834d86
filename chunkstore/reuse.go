package chunkstore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
)

// Reuse sets a chunk's time of last access to now and returns true, so that the
// next collection keeps it. It returns false when there is none or when its file is
// empty: then it has to be inserted.
//
// It does not read the chunk. That is right for chunks of a finished snapshot,
// which were synced before its manifest; for others see [Store.ReuseVerified].
func (s *Store) Reuse(d digest.Digest) (bool, error) {
	name := nameOf(d)
	dir, err := s.openPrefix(name)
	if err != nil {
		return missingIsFalse(d, err)
	}
	defer dir.Close()
	size, err := sizeIn(dir, name)
	if err == nil && size > 0 {
		err = s.disk.Touch(dir, name.file())
	}
	if err != nil {
		return missingIsFalse(d, err)
	}
	return size > 0, nil
}

func missingIsFalse(d digest.Digest, err error) (bool, error) {
	if err = classify(d, err); errors.Is(err, ErrMissing) {
		return false, nil
	}
	return false, err
}

// ReuseVerified is Reuse for a chunk of which nobody has proved that it was written
// to its end: it is read with loader, which belongs to s, and false is returned
// also when it is damaged, or when the disk can't read it (EIO). An encrypted chunk
// can't be proven without its key, and whoever has none could not read it back: false.
func (s *Store) ReuseVerified(d digest.Digest, loader *Loader) (bool, error) {
	switch _, proven, err := loader.examine(d); {
	case err == nil && proven:
		return s.Reuse(d)
	case err == nil, errors.Is(err, ErrMissing), errors.Is(err, blob.ErrWrongKey), isDamage(err):
		return false, nil
	default:
		return false, err
	}
}

// isDamage reports whether an error says that a chunk's content is lost. EIO is
// what a medium answers that has lost it.
func isDamage(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, unix.EIO)
}

// touchKept touches a chunk that stays. It returns false when it has gone.
func (s *Store) touchKept(dir *os.File, name chunkName) (bool, error) {
	err := s.disk.Touch(dir, name.file())
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}
