package datastore

import (
	"context"
	"errors"
	"os"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// HoldOptions are how something is locked for others to do something with it.
type HoldOptions struct {
	// Shared lets others hold it shared as well: readers of a snapshot, writers of backups
	// where it is the datastore.
	Shared bool
	// Message is told to whoever meets the lock, see [ActivityPlace].
	Message string
}

// Held is a lock, of all kinds that apply, that is held until it is closed.
type Held struct {
	root  *os.File
	set   *guards
	lease *lease
}

// Lost is closed when a store lock of it is lost: what is done under it has to stop.
func (h *Held) Lost() <-chan struct{} { return h.lease.lost.Done() }

// Hold locks a group or a snapshot, as an operation on it would: the lock of the group
// (L2) keeps others from backing up to it and from removing it, and a snapshot's (L3)
// from removing or, where it is not shared, reading it. It does not keep snapshots of the
// group from being removed. The errors are those of a change, for a shared lock too:
// where its lock would exclude nobody, or the server's can't be had, it is refused.
func (d *Datastore) Hold(ctx context.Context, object backupinfo.Object, opts HoldOptions) (*Held, error) {
	return d.hold(ctx, objectDir(object), opts, func(set *guards, root *os.File, _ *fsop.Disk) error {
		snapshot, isSnapshot := object.Snapshot()
		var err error
		switch {
		case isSnapshot && opts.Shared:
			_, err = lockSnapshotShared(set, root, snapshot)
		case isSnapshot:
			_, err = lockSnapshot(set, root, snapshot)
		case opts.Shared:
			_, err = lockGroupShared(set, root, object.Group)
		default:
			_, err = lockGroup(set, root, object.Group)
		}
		return err
	})
}

func objectDir(object backupinfo.Object) string {
	if snapshot, ok := object.Snapshot(); ok {
		return snapshot.Dir()
	}
	return object.Group.Dir()
}

// HoldStore locks the datastore as a whole (L1): shared, no chunk is removed;
// else no backup is made either. Snapshots can be read and removed all the same.
func (d *Datastore) HoldStore(ctx context.Context, opts HoldOptions) (*Held, error) {
	return d.hold(ctx, d.path, opts, func(set *guards, root *os.File, disk *fsop.Disk) (err error) {
		chunks, err := chunkstore.Open(root, chunkstore.Options{Disk: disk})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, chunks.Close()) }()
		if opts.Shared {
			return lockStoreShared(ctx, set, chunks)
		}
		_, err = lockStoreExclusive(ctx, set, chunks)
		return err
	})
}

func (d *Datastore) hold(ctx context.Context, what string, opts HoldOptions, take func(*guards, *os.File, *fsop.Disk) error) (*Held, error) {
	d = d.begin()
	root, disk, err := d.openForHold(opts.Shared)
	if err != nil {
		return nil, err
	}
	acquire := d.acquire
	if opts.Shared {
		acquire = d.acquireReading
	}
	set, err := acquire(ctx, func(set *guards) error {
		set.complete = true
		if set.missing != nil {
			return set.missing
		}
		return take(set, root, disk)
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	d.say(set, "lock", what, opts.Message)
	return &Held{root: root, set: set, lease: d.lease}, nil
}

// openForHold opens the root. Who holds something shared need not be allowed to
// change it, but a lock that protects nothing is none.
func (d *Datastore) openForHold(shared bool) (*os.File, *fsop.Disk, error) {
	if !shared {
		return d.openForChange()
	}
	root, err := d.openRoot()
	if err != nil {
		return nil, nil, err
	}
	if err := d.checkReach(root); err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	return root, d.opts.Disk, nil
}

// Files are the open files that carry the locks. A process that is given them has
// the locks too, until it closes them or ends; that this one closes or ends does not
// matter then. They must not be closed.
func (h *Held) Files() []*os.File { return h.set.files() }

// Close releases the lock. A second Close does nothing.
func (h *Held) Close() error {
	if h == nil || h.root == nil {
		return nil
	}
	err := errors.Join(h.set.Close(), h.root.Close())
	h.root = nil
	return err
}
