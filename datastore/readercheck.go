package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// Lost is closed when a store lock of the reader is lost: from then on others may remove
// the snapshot. Nothing closes it where several hosts don't share the store.
func (r *SnapshotReader) Lost() <-chan struct{} { return r.store.lease.lost.Done() }

// Check tells whether what is read is still what its name stands for. The error is
// storelock.ErrLost where a store lock was lost, and flock.ErrChanged where the snapshot
// was removed or exchanged all the same, by somebody who does not ask for locks. What is read of
// it is proven in any case.
func (r *SnapshotReader) Check() error {
	if lost := r.store.lease.lost; lost.Err() != nil {
		return context.Cause(lost)
	}
	now, err := beneath.OpenDir(r.root, r.snapshot.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot %q was removed while it was read: %w", r.snapshot.Dir(), flock.ErrChanged)
	}
	if err != nil {
		return err
	}
	defer now.Close()
	a, err := now.Stat()
	if err != nil {
		return err
	}
	b, err := r.dir.Stat()
	if err == nil && !os.SameFile(a, b) {
		err = fmt.Errorf("snapshot %q was exchanged while it was read: %w", r.snapshot.Dir(), flock.ErrChanged)
	}
	return err
}
