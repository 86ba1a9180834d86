package chunkstore

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/pbs-like/pbs-like/flock"
)

// LockShared takes the lock of those who write chunks, so that none is removed
// before a finished snapshot refers to it. It is the lock of the original, which
// all programs on this host respect, and makes its file if there is none. Reading
// the file must be permitted, nothing else.
//
// The error is a *flock.LockedError when somebody holds the lock exclusively for
// longer than wait says.
func (s *Store) LockShared(ctx context.Context, wait flock.Wait) (*flock.SharedGuard, error) {
	return takeLock(ctx, s, wait, flock.TryRecordShared)
}

// LockExclusive takes the lock of those who remove chunks: nobody writes any.
func (s *Store) LockExclusive(ctx context.Context, wait flock.Wait) (*flock.ExclusiveGuard, error) {
	return takeLock(ctx, s, wait, flock.TryRecordExclusive)
}

func takeLock[G io.Closer](ctx context.Context, s *Store, wait flock.Wait, try func(flock.Ref) (G, error)) (G, error) {
	ref := flock.Ref{Dir: s.root, Name: lockName}
	return flock.Take(ctx, wait, func() (G, error) {
		guard, err := try(ref)
		if !errors.Is(err, fs.ErrNotExist) {
			return guard, err
		}
		if err := s.makeLock(); err != nil {
			var none G
			return none, err
		}
		return try(ref)
	})
}

// makeLock makes the lock file if nobody else does so first. It is never removed.
func (s *Store) makeLock() error {
	f, err := s.disk.Create(s.root, lockName, lockMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return errors.Join(err, f.Discard())
	}
	return nil
}
