package datastore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/keys"
)

// BackupOptions are how a new snapshot is made.
type BackupOptions struct {
	// Time is the snapshot's time; 0 is now. It has to be after that of the group's newest finished snapshot.
	Time backupinfo.Time
	// Owner has to be that of the group, or becomes that of a new group. Empty is root@pam.
	Owner backupinfo.AuthID
	// Base says whose chunks are known to be there.
	Base BaseChoice
	// Notes become the notes of the snapshot.
	Notes string
	// Key encrypts the archives and signs the manifest. nil leaves both undone.
	Key *keys.Key
	// CryptMode is what Key is for: empty is encrypt where there is a key and none where
	// there is not; sign-only stores the data as it is. With none, the key is not used.
	CryptMode backupinfo.CryptMode
	// KeyCopy is the key for the owner of a master key, from keys.File.EncryptForMaster.
	// It becomes the file [KeyCopyName] of the snapshot. nil leaves that out.
	KeyCopy []byte
}

// BaseChoice says which snapshot is the base of a backup. The zero value is the
// group's newest finished snapshot whose verification has not failed.
type BaseChoice struct {
	// None uses no base.
	None bool
	// Snapshot is the one to use, of the same group.
	Snapshot *backupinfo.Snapshot
}

// SnapshotWriter makes one snapshot. Until [SnapshotWriter.Commit] returns nil
// the snapshot is unfinished. From Backup to Commit or Close it holds the
// datastore's lock (shared), its group's and its own (exclusive), and its base's
// (shared). The archives of one snapshot are added one after the other; when one
// fails, all that is left to do is to close the writer.
type SnapshotWriter struct {
	store    *Datastore
	root     *os.File
	disk     *fsop.Disk
	chunks   *chunkstore.Store
	locks    *guards
	snapshot backupinfo.Snapshot
	group    *flock.ExclusiveGuard
	groupDir *os.File
	guard    *flock.ExclusiveGuard // of the snapshot itself
	dir      *os.File              // its directory
	newGroup bool                  // the group is there because of this backup
	base     *base
	ours     []byte // what our mark in the directory says
	crypt    crypt
	keyCopy  []byte
	manifest *backupinfo.Manifest
	crew     *crew
	upload   uploadStats
	tree     *TreeWriter    // the directory tree that is being written, if there is one
	catalog  *catalogStream // of the legacy trees, nil if there are none

	mu   sync.Mutex
	done bool
	// failed is why an archive could not be stored. A Read that was left alone may
	// still write to the buffers, so that nothing more may be stored in them.
	failed error
}

// Backup begins a snapshot of a group, which is made if it is not there. It is
// refused while the group is locked (flock.ErrLocked), if the group belongs to
// somebody else ([ErrNotOwner]), if the time is not the newest ([ErrOlder]) or is
// taken ([ErrExists]), and if it is to be encrypted or signed without a key (blob.ErrNeedKey).
func (d *Datastore) Backup(ctx context.Context, group backupinfo.Group, opts BackupOptions) (*SnapshotWriter, error) {
	if err := group.Validate(); err != nil {
		return nil, err
	}
	if opts.Time < 0 {
		return nil, fmt.Errorf("backup time %s: has to be after 1970-01-01T00:00:00Z", opts.Time)
	}
	if opts.Owner == "" {
		opts.Owner = backupinfo.DefaultOwner
	}
	protection, err := newCrypt(opts)
	if err != nil {
		return nil, err
	}
	w := &SnapshotWriter{store: d.begin(), crypt: protection, keyCopy: opts.KeyCopy}
	if err := w.open(group); err != nil {
		return nil, errors.Join(err, w.release())
	}
	locks, err := d.acquire(ctx, func(set *guards) error {
		if err := w.begin(ctx, set, group, opts); err != nil {
			return errors.Join(err, w.undo(context.WithoutCancel(ctx)))
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, w.release())
	}
	w.locks = locks
	d.say(locks, "backup", w.snapshot.Dir(), "")
	if w.manifest, err = backupinfo.NewManifest(w.snapshot); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if opts.Notes != "" {
		if err := w.manifest.SetNotes(opts.Notes); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	return w, nil
}

// open opens what a writer needs and makes sure that it may write.
func (w *SnapshotWriter) open(group backupinfo.Group) (err error) {
	if w.root, w.disk, err = w.store.openForChange(); err != nil {
		return err
	}
	if err := checkNamespace(w.root, group.Namespace); err != nil {
		return err
	}
	w.chunks, err = chunkstore.Open(w.root, chunkstore.Options{Disk: w.disk, Key: w.crypt.dataKey()})
	return err
}

// begin takes all locks of a backup and makes its snapshot.
func (w *SnapshotWriter) begin(ctx context.Context, set *guards, group backupinfo.Group, opts BackupOptions) (err error) {
	w.newGroup, w.guard, w.base = false, nil, nil
	w.snapshot = backupinfo.Snapshot{Group: group}
	if err := lockStoreShared(ctx, set, w.chunks); err != nil {
		return err
	}
	if err := w.takeGroup(ctx, set, group, opts.Owner); err != nil {
		return err
	}
	times, _, err := snapshotTimes(w.groupDir, group)
	if err != nil {
		return err
	}
	if w.snapshot, err = w.chooseTime(group, times, opts.Time, time.Now()); err != nil {
		return err
	}
	if w.base, err = w.takeBase(set, times, opts.Base); err != nil {
		return err
	}
	return w.makeSnapshot(ctx, set)
}

// maxBackToBack is how far the times of backups may run ahead of the clock, in
// seconds, when more than one is made within a second. Beyond that the clock was set back.
const maxBackToBack = 60

// chooseTime finds the time of the new snapshot: the newest of its group.
func (w *SnapshotWriter) chooseTime(group backupinfo.Group, times []backupinfo.Time, asked backupinfo.Time, now time.Time) (backupinfo.Snapshot, error) {
	snapshot := backupinfo.Snapshot{Group: group, Time: asked}
	if asked == 0 {
		snapshot.Time = backupinfo.Time(now.Unix())
	}
	if len(times) == 0 {
		return snapshot, nil
	}
	newest := times[len(times)-1]
	if asked == 0 && newest >= snapshot.Time && newest-snapshot.Time < maxBackToBack {
		snapshot.Time = newest + 1
	}
	if snapshot.Time > newest {
		return snapshot, nil
	}
	for i := len(times) - 1; i >= 0 && times[i] >= snapshot.Time; i-- {
		if times[i] == snapshot.Time {
			return snapshot, fmt.Errorf("snapshot %q %w", snapshot.Dir(), ErrExists)
		}
		finished, err := isFinished(w.groupDir, times[i].String())
		if err != nil {
			return snapshot, err
		}
		if finished {
			return snapshot, fmt.Errorf("snapshot %q is %w, which is %s", snapshot.Dir(), ErrOlder, times[i])
		}
	}
	return snapshot, nil
}

// Snapshot is the one that is being made.
func (w *SnapshotWriter) Snapshot() backupinfo.Snapshot { return w.snapshot }

// CryptMode is how the archives of the snapshot are protected.
func (w *SnapshotWriter) CryptMode() backupinfo.CryptMode { return w.crypt.mode }

// Base is the snapshot whose chunks are known, if there is one. It stays locked until the writer is done.
func (w *SnapshotWriter) Base() (backupinfo.Snapshot, bool) {
	if w.base == nil {
		return backupinfo.Snapshot{}, false
	}
	return w.base.snapshot, true
}
