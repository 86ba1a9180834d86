package datastore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
)

// base is the snapshot whose chunks a backup takes as known. It is locked shared
// for as long as the backup runs.
type base struct {
	snapshot backupinfo.Snapshot
	guard    *flock.SharedGuard
	manifest *backupinfo.Manifest
}

// takeBase finds and locks the base of a backup. Under the lock it is looked at
// again: it may have been removed, or found damaged, in between.
func (w *SnapshotWriter) takeBase(set *guards, times []backupinfo.Time, choice BaseChoice) (*base, error) {
	if choice.None {
		return nil, nil
	}
	if choice.Snapshot != nil {
		return w.chosenBase(set, *choice.Snapshot)
	}
	for _, time := range slices.Backward(times) {
		snapshot := backupinfo.Snapshot{Group: w.snapshot.Group, Time: time}
		finished, err := isFinished(w.groupDir, time.String())
		if err != nil || !finished {
			continue // what it is gets reported by listing and verification
		}
		candidate, err := w.lockBase(set, snapshot)
		if err == nil {
			return candidate, nil
		}
		w.store.opts.Events.notice(snapshot.Dir(), "not used as base", err)
		if errors.Is(err, errOtherNames) {
			return nil, nil // nor will older ones be, since the key was changed
		}
	}
	return nil, nil
}

func (w *SnapshotWriter) chosenBase(set *guards, snapshot backupinfo.Snapshot) (*base, error) {
	if snapshot.Group != w.snapshot.Group {
		return nil, fmt.Errorf("base %q is not of group %q", snapshot.Dir(), w.snapshot.Group.Dir())
	}
	return w.lockBase(set, snapshot)
}

// lockBase takes L4 and proves under it that the snapshot can serve. The lock of one that can't is not kept.
func (w *SnapshotWriter) lockBase(set *guards, snapshot backupinfo.Snapshot) (*base, error) {
	own := set.within()
	guard, err := lockSnapshotShared(own, w.root, snapshot)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	manifest, err := usableManifest(guard.File(), snapshot)
	if err == nil {
		err = w.crypt.knows(manifest)
	}
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	set.add(own)
	return &base{snapshot: snapshot, guard: guard, manifest: manifest}, nil
}

func usableManifest(dir *os.File, snapshot backupinfo.Snapshot) (*backupinfo.Manifest, error) {
	manifests := newManifestReader()
	defer manifests.Close()
	manifest, _, err := manifests.read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("snapshot %q is %w", snapshot.Dir(), ErrUnfinished)
	}
	if err != nil {
		return nil, err
	}
	if err := manifest.Check(snapshot); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if state := manifest.VerifyState(); state != nil && state.State == backupinfo.VerifyFailed {
		return nil, fmt.Errorf("its verification has failed: %w", ErrCorrupt)
	}
	return manifest, nil
}

// check makes sure that the base is still what was locked.
func (b *base) check(root *os.File) error {
	if err := leadsTo(root, b.snapshot.Dir(), b.guard.File()); err != nil {
		return err
	}
	there, err := exists(root, path.Join(b.snapshot.Dir(), backupinfo.ManifestName))
	if err == nil && !there {
		err = fs.ErrNotExist
	}
	return err
}
