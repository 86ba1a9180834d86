package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// SnapshotInfo is what a listing tells about a snapshot.
type SnapshotInfo struct {
	Snapshot backupinfo.Snapshot
	// Finished says that there is a manifest. It does not say that the snapshot is not in use: only a lock does.
	Finished  bool
	Protected bool
	// Protection is what is known about that.
	Protection Protection
	// Owner is that of the group.
	Owner backupinfo.AuthID
	// Files are those of the manifest, the manifest itself, and what else lies in the directory.
	Files []FileInfo
	// Size is the sum of the sizes that the manifest gives, where SizeKnown is set.
	Size      uint64
	SizeKnown bool
	// Comment is the first line of the snapshot's notes.
	Comment      string
	Verification *backupinfo.VerifyState
	// VerifiedWithKey is the last verification that found the snapshot good with its key, if there was one
	// since it was last found damaged. Proxmox Backup does not know of it.
	VerifiedWithKey *KeyVerification
	// Fingerprint is that of the encryption or signing key, or empty.
	Fingerprint string
	// Err is what is broken about the snapshot, such as a damaged manifest.
	Err error
}

// KeyVerification is a verification with the key that a snapshot was made with.
type KeyVerification struct {
	// Fingerprint is that of the key.
	Fingerprint string
	// UPID is the task that verified; its Start is when.
	UPID backupinfo.UPID
}

// FileInfo is one file of a snapshot.
type FileInfo struct {
	// Name is the name on disk, with the server's suffix.
	Name string
	// Crypt and Size are nil for a file that the manifest does not list.
	Crypt *backupinfo.CryptMode
	Size  *uint64
}

// Snapshots lists the snapshots of a group, oldest first. A group that does not
// exist is [ErrNotFound]; an [EntryError] stands for one entry that could not be
// read as a snapshot. Broken and unfinished snapshots are listed like the others.
func (d *Datastore) Snapshots(ctx context.Context, group backupinfo.Group) iter.Seq2[SnapshotInfo, error] {
	return func(yield func(SnapshotInfo, error) bool) {
		err := d.withGroup(ctx, group, func(dir *os.File) error {
			yieldSnapshots(ctx, dir, group, yield)
			return nil
		})
		if err != nil {
			yield(SnapshotInfo{}, err)
		}
	}
}

func yieldSnapshots(ctx context.Context, dir *os.File, group backupinfo.Group, yield func(SnapshotInfo, error) bool) {
	times, broken, err := snapshotTimes(dir, group)
	if errors.Is(err, fs.ErrNotExist) {
		return // removed while we looked
	}
	if err != nil {
		yield(SnapshotInfo{}, &EntryError{Path: group.Dir(), Err: err})
		return
	}
	for _, err := range broken {
		if !yield(SnapshotInfo{}, err) {
			return
		}
	}
	owner, _ := readOwner(dir) // a missing owner is the group's trouble and shown there
	manifests := newManifestReader()
	defer manifests.Close()
	for _, time := range times {
		if err := ctx.Err(); err != nil {
			yield(SnapshotInfo{}, err)
			return
		}
		info, err := manifests.snapshot(dir, backupinfo.Snapshot{Group: group, Time: time})
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the group was read
		}
		if err != nil {
			err = &EntryError{Path: path.Join(group.Dir(), time.String()), Err: err}
		}
		info.Owner = owner
		if !yield(info, err) {
			return
		}
	}
}

// Snapshot tells about one snapshot.
func (d *Datastore) Snapshot(ctx context.Context, snapshot backupinfo.Snapshot) (info SnapshotInfo, err error) {
	err = d.withGroup(ctx, snapshot.Group, func(dir *os.File) error {
		manifests := newManifestReader()
		defer manifests.Close()
		info, err = manifests.snapshot(dir, snapshot)
		if err != nil {
			return notFound(err, "snapshot", snapshot.Dir())
		}
		info.Owner, _ = readOwner(dir)
		return nil
	})
	return info, err
}

// Latest finds the newest finished snapshot of a group. A newer one that can't be
// looked at is an error.
func (d *Datastore) Latest(ctx context.Context, group backupinfo.Group) (snapshot backupinfo.Snapshot, err error) {
	err = d.withGroup(ctx, group, func(dir *os.File) error {
		times, _, err := snapshotTimes(dir, group)
		if err != nil {
			return err
		}
		snapshot, err = latest(dir, group, times)
		return err
	})
	return snapshot, err
}

// latest looks from the newest on. One that can't be looked at ends the search:
// an older one in its place would be taken for the newest.
func latest(dir *os.File, group backupinfo.Group, times []backupinfo.Time) (backupinfo.Snapshot, error) {
	for _, time := range slices.Backward(times) {
		snapshot := backupinfo.Snapshot{Group: group, Time: time}
		finished, err := isFinished(dir, time.String())
		if err != nil {
			return snapshot, fmt.Errorf("snapshot %q, which may be the newest, can't be looked at; name the one to take: %w", snapshot.Dir(), err)
		}
		if finished {
			return snapshot, nil
		}
	}
	return backupinfo.Snapshot{}, &NotFoundError{Kind: "snapshot", Name: group.Dir(), Hint: "the group has no finished snapshot"}
}

// archiveNames lists the files of a snapshot that a reader looks at.
func archiveNames(group *os.File, snapshot string) ([]string, error) {
	dir, err := beneath.OpenDir(group, snapshot)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, _, err := snapshotFiles(dir)
	return names, err
}
