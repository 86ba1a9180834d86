package datastore

import (
	"context"
	"errors"
	"sync"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/storelock"
)

// lease has the store locks of one operation. Unlike the kernel's locks these
// can be lost while they are held: then the operation ends, and before that it
// makes no step any more that can't be taken back.
type lease struct {
	lost context.Context //nolint:containedctx // it ends, with its cause, when a lock is lost
	lose context.CancelCauseFunc

	mu   sync.Mutex
	held map[*storelock.Guard]struct{}
}

func newLease() *lease {
	lost, lose := context.WithCancelCause(context.Background())
	return &lease{lost: lost, lose: lose, held: map[*storelock.Guard]struct{}{}}
}

// begin gives the handle of one operation: what it locks, and what it changes, belong together.
func (d *Datastore) begin() *Datastore {
	op := *d
	op.lease = newLease()
	return &op
}

// beginBound is begin with the context that ends when a lock is lost, see bind.
func (d *Datastore) beginBound(ctx context.Context) (op *Datastore, bound context.Context, end func(*error)) {
	op = d.begin()
	bound, end = op.lease.bind(ctx)
	return op, bound, end
}

// follow makes the loss of a guard that of the operation, until the guard is closed.
func (l *lease) follow(guard *storelock.Guard) *heldLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[guard] = struct{}{}
	stop := context.AfterFunc(guard.Context(), func() {
		if err := guard.Err(); errors.Is(err, storelock.ErrLost) {
			l.lose(err)
		}
	})
	return &heldLease{lease: l, guard: guard, stop: stop}
}

// heldLease is a store lock in a set.
type heldLease struct {
	lease *lease
	guard *storelock.Guard
	stop  func() bool
}

// Close gives the lock back.
func (h *heldLease) Close() error {
	h.lease.mu.Lock()
	delete(h.lease.held, h.guard)
	h.lease.mu.Unlock()
	h.stop()
	err := h.guard.Close()
	if errors.Is(err, storelock.ErrLost) {
		h.lease.lose(err)
	}
	return err
}

// check asks every lock whether it is still held. Once one was lost, nothing is any more.
func (l *lease) check() error {
	if l == nil {
		return nil
	}
	if l.lost.Err() != nil {
		return context.Cause(l.lost)
	}
	for _, guard := range l.guards() {
		if err := guard.Check(context.Background()); err != nil {
			if errors.Is(err, storelock.ErrLost) {
				l.lose(err)
			}
			return err
		}
	}
	return nil
}

func (l *lease) guards() []*storelock.Guard {
	l.mu.Lock()
	defer l.mu.Unlock()
	guards := make([]*storelock.Guard, 0, len(l.held))
	for guard := range l.held {
		guards = append(guards, guard)
	}
	return guards
}

// bind gives a context that ends when a lock is lost. end gives its error that cause, where
// it had none better to tell.
func (l *lease) bind(ctx context.Context) (bound context.Context, end func(*error)) {
	if l == nil {
		return ctx, func(*error) {}
	}
	bound, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.lost, func() { cancel(context.Cause(l.lost)) })
	return bound, func(err *error) {
		stop()
		cancel(nil)
		if *err != nil && l.lost.Err() != nil && !errors.Is(*err, storelock.ErrLost) {
			*err = errors.Join(context.Cause(l.lost), *err)
		}
	}
}

// gate makes a disk look at the locks right before each step that somebody else
// can see. It comes last, after whatever the hook of a test does.
func (l *lease) gate(disk *fsop.Disk) {
	if l == nil {
		return
	}
	before := disk.Before
	disk.Before = func(c fsop.Change) error {
		if before != nil {
			if err := before(c); err != nil {
				return err
			}
		}
		if !isVisible(c.Op) {
			return nil
		}
		return l.check()
	}
}

// isVisible leaves out what happens to an open file that has no name yet, and syncs.
func isVisible(op fsop.Op) bool {
	switch op {
	case fsop.OpWrite, fsop.OpTruncate, fsop.OpSync, fsop.OpClose, fsop.OpSyncDir, fsop.OpSyncFS:
		return false
	case fsop.OpMkdir, fsop.OpCreate, fsop.OpRename, fsop.OpLink, fsop.OpRemove, fsop.OpRmdir, fsop.OpChmod, fsop.OpChown, fsop.OpTouch:
	}
	return true
}
