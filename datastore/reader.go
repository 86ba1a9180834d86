package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/activity"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/keys"
	"github.com/pbs-like/pbs-like/storelock"
)

// SnapshotReader reads a finished snapshot. Until it is closed it holds a shared
// lock on it, which keeps it from being removed and nobody from reading it too.
// It is safe for concurrent use.
type SnapshotReader struct {
	store    *Datastore
	root     *os.File
	chunks   *chunkstore.Store
	locks    *guards
	dir      *os.File // the snapshot's own directory
	snapshot backupinfo.Snapshot
	manifest *backupinfo.Manifest
	files    []FileInfo
	key      *keys.Key // nil for none
	// signature is what the key says about the manifest.
	signature Signature
}

// ReadOptions are how a snapshot is read.
type ReadOptions struct {
	// Key opens what is encrypted, and checks the signature of the manifest. Without
	// one, what is not encrypted can be read all the same.
	Key *keys.Key
}

// OpenSnapshot opens a snapshot for reading. The error is [ErrNotFound],
// [ErrUnfinished], [ErrCorrupt] for a damaged manifest, or flock.ErrLocked while
// somebody removes it. With a key it is a *keys.WrongKeyError where the manifest
// names another one, and keys.ErrSignature where the signature is not the key's; a
// manifest that has no signature is read, with a notice.
// On media that can't lock it goes on without, with a notice.
func (d *Datastore) OpenSnapshot(ctx context.Context, snapshot backupinfo.Snapshot, opts ReadOptions) (*SnapshotReader, error) {
	r, err := d.openUnchecked(ctx, snapshot, opts.Key)
	if err != nil {
		return nil, err
	}
	if r.signature, err = authenticate(r.manifest, opts.Key); err != nil {
		return nil, errors.Join(fmt.Errorf("snapshot %q: %w", snapshot.Dir(), err), r.Close())
	}
	r.noticeSignature()
	return r, nil
}

// openUnchecked opens a snapshot whatever its signature is.
func (d *Datastore) openUnchecked(ctx context.Context, snapshot backupinfo.Snapshot, key *keys.Key) (*SnapshotReader, error) {
	if d.lease == nil {
		d = d.begin() // so that the reader learns of the loss of its store lock
	}
	r := &SnapshotReader{store: d, snapshot: snapshot, key: key}
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// noticeSignature tells a user with a key that it proves less than it could, and one without that it could prove something.
func (r *SnapshotReader) noticeSignature() {
	switch {
	case r.signature == SignatureUnchecked:
		r.store.opts.Events.notice(r.snapshot.Dir(), "signed, which is not checked without the key", nil)
	case r.signature == SignatureNone && r.key != nil:
		r.store.opts.Events.notice(r.snapshot.Dir(), "not signed: the key can't show that it is as it was made", nil)
	}
}

func (r *SnapshotReader) open(ctx context.Context) (err error) {
	if r.root, err = r.store.openRoot(); err != nil {
		return err
	}
	if err := findSnapshot(r.root, r.snapshot); err != nil {
		return err
	}
	if err := r.lock(ctx); err != nil {
		return err
	}
	manifests := newManifestReader()
	defer manifests.Close()
	var size uint64
	r.manifest, size, err = manifests.read(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot %q is %w", r.snapshot.Dir(), ErrUnfinished)
	}
	if err != nil {
		return fmt.Errorf("snapshot %q: %w", r.snapshot.Dir(), err)
	}
	if err := r.manifest.Check(r.snapshot); err != nil {
		return fmt.Errorf("snapshot %q: %w: %w", r.snapshot.Dir(), ErrCorrupt, err)
	}
	r.files = manifestFiles(r.manifest, size)
	r.chunks, err = chunkstore.Open(r.root, chunkstore.Options{Disk: r.store.opts.Disk, Key: r.key})
	return err
}

func (r *SnapshotReader) lock(ctx context.Context) error {
	set, err := r.store.acquireReading(ctx, func(set *guards) error {
		guard, err := lockSnapshotShared(set, r.root, r.snapshot)
		if err != nil {
			return err
		}
		r.dir = guard.File()
		return nil
	})
	if errors.Is(err, flock.ErrUnsupported) {
		r.store.opts.Events.notice(r.snapshot.Dir(), "read without a lock, which this file system can't do", err)
		set, err = r.lockElsewhere(ctx)
	}
	r.locks = set
	if err != nil {
		return err
	}
	r.store.say(set, activity.Reading, r.snapshot.Dir(), "")
	return r.noticeReach()
}

// lockElsewhere is for a file system that can't lock: a server's lock files may be on another one.
func (r *SnapshotReader) lockElsewhere(ctx context.Context) (*guards, error) {
	return r.store.acquireReading(ctx, func(set *guards) (err error) {
		if r.dir, err = beneath.OpenDir(r.root, r.snapshot.Dir()); err != nil {
			return err
		}
		set.add(r.dir)
		if err := set.alsoSnapshot(r.root, r.snapshot, flock.Shared); err != nil {
			return err
		}
		return set.alsoStore(snapshotsResource(r.snapshot.Group), flock.Shared)
	})
}

// noticeReach tells a user whose lock excludes nobody on other hosts.
func (r *SnapshotReader) noticeReach() error {
	reach, err := flock.Reach(r.root)
	scheme, unknown := readScheme(r.root) // which the lock has told of
	if err == nil && !reach.Local && !r.store.opts.OnlyHost && unknown == nil && scheme.Mode == LockLocal && !scheme.OnlyHost {
		r.store.opts.Events.notice(r.snapshot.Dir(), "the lock on it reaches no other host, on a file system of type "+reach.Name, nil)
	}
	return err
}

// Close releases the lock. A second Close, and one of nil, does nothing.
func (r *SnapshotReader) Close() error {
	if r == nil {
		return nil
	}
	err := r.locks.Close()
	if errors.Is(err, storelock.ErrLost) || errors.Is(err, storelock.ErrNotLocked) {
		// What was read was compared with its checksums: a removal meanwhile would have made that fail.
		r.store.opts.Events.notice(r.snapshot.Dir(), "its store lock was lost while it was read", err)
		err = nil
	}
	if r.chunks != nil {
		err = errors.Join(err, r.chunks.Close())
	}
	if r.root != nil {
		err = errors.Join(err, r.root.Close())
	}
	r.chunks, r.root = nil, nil
	return err
}

// Snapshot is the one that is read.
func (r *SnapshotReader) Snapshot() backupinfo.Snapshot { return r.snapshot }

// Manifest is the snapshot's manifest, as it was when it was opened. It is not to be changed.
func (r *SnapshotReader) Manifest() *backupinfo.Manifest { return r.manifest }

// Signature is what is known about the manifest's signature.
func (r *SnapshotReader) Signature() Signature { return r.signature }

// Files are the files that the manifest lists, and the manifest itself.
func (r *SnapshotReader) Files() []FileInfo { return r.files }
