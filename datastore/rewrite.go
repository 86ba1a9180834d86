package datastore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// rewriteManifest changes the unprotected part of a finished snapshot's manifest.
// It is the only way in which a manifest is replaced: what change does not touch
// stays, known or not, and readers see the old manifest or the new one.
//
// L3 is held shared meanwhile, so that no removal takes the directory away under
// the rewrite; who reads the snapshot goes on, and may call this. Nothing is
// written where change changes nothing. After nil the new manifest is durable.
func (d *Datastore) rewriteManifest(ctx context.Context, root *os.File, disk *fsop.Disk, snapshot backupinfo.Snapshot, change func(*backupinfo.Manifest) error) (err error) {
	if err := findSnapshot(root, snapshot); err != nil {
		return err
	}
	var dir *os.File
	var manifest *flock.ExclusiveGuard
	set, err := d.acquireBriefly(ctx, func(set *guards) error {
		guard, err := lockSnapshotShared(set, root, snapshot)
		if err != nil {
			return err
		}
		dir = guard.File()
		manifest, err = lockManifest(set, root, snapshot)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot %q is %w", snapshot.Dir(), ErrUnfinished)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	text, err := changedManifest(dir, snapshot, change)
	if err != nil || text == nil {
		return err
	}
	if err := replaceManifest(disk, dir, manifest, text); err != nil {
		return err
	}
	return removeTemporary(disk, dir, fsop.TempPrefix(backupinfo.ManifestName))
}

// changedManifest gives the new text of a manifest, or nil where it is the old one.
func changedManifest(dir *os.File, snapshot backupinfo.Snapshot, change func(*backupinfo.Manifest) error) ([]byte, error) {
	manifests := newManifestReader()
	defer manifests.Close()
	manifest, _, err := manifests.read(dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot %q: %w", snapshot.Dir(), err)
	}
	if err := manifest.Check(snapshot); err != nil {
		return nil, fmt.Errorf("snapshot %q: %w: %w", snapshot.Dir(), ErrCorrupt, err)
	}
	before, err := manifest.Marshal()
	if err != nil {
		return nil, err
	}
	if err := change(manifest); err != nil {
		return nil, fmt.Errorf("snapshot %q: %w", snapshot.Dir(), err)
	}
	after, err := manifest.Marshal()
	if err != nil || bytes.Equal(before, after) {
		return nil, err
	}
	if len(after) > maxManifestSize {
		return nil, fmt.Errorf("snapshot %q: manifest would have %d bytes, at most %d are read", snapshot.Dir(), len(after), maxManifestSize)
	}
	return encodeManifest(manifest)
}

// replaceManifest puts the new manifest in the place of the locked one. Somebody
// with locks of another kind, such as a server, may have replaced it meanwhile:
// then that one stays.
func replaceManifest(disk *fsop.Disk, dir *os.File, old *flock.ExclusiveGuard, stored []byte) error {
	if err := old.Check(); err != nil {
		return fmt.Errorf("manifest in %q: %w", dir.Name(), err)
	}
	return disk.WriteFile(dir, backupinfo.ManifestName, stored, fileMode)
}

// removeTemporary removes the files of rewrites that were cut off. Under the
// manifest's lock there is no other rewrite.
func removeTemporary(disk *fsop.Disk, dir *os.File, prefix string) error {
	again, err := beneath.OpenDir(dir, ".") // a directory's read position belongs to its open file
	if err != nil {
		return err
	}
	defer again.Close()
	names, err := again.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			if err := ignoreVanished(disk.Remove(again, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
