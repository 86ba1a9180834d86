package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// Notes gives the whole notes of a snapshot or group, "" where there are none. It
// takes no lock. An unfinished snapshot has no notes: [ErrUnfinished].
func (d *Datastore) Notes(ctx context.Context, object backupinfo.Object) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	root, err := d.openRoot()
	if err != nil {
		return "", err
	}
	defer root.Close()
	if snapshot, ok := object.Snapshot(); ok {
		return snapshotNotes(root, snapshot)
	}
	dir, err := openGroup(root, object.Group)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	text, err := readBounded(dir, backupinfo.NotesName, maxNotesSize)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

func snapshotNotes(root *os.File, snapshot backupinfo.Snapshot) (string, error) {
	if err := findSnapshot(root, snapshot); err != nil {
		return "", err
	}
	dir, err := beneath.OpenDir(root, snapshot.Dir())
	if err != nil {
		return "", notFound(err, "snapshot", snapshot.Dir())
	}
	defer dir.Close()
	manifests := newManifestReader()
	defer manifests.Close()
	manifest, _, err := manifests.read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("snapshot %q is %w", snapshot.Dir(), ErrUnfinished)
	}
	if err != nil {
		return "", fmt.Errorf("snapshot %q: %w", snapshot.Dir(), err)
	}
	return manifest.Notes(), nil
}

// SetNotes replaces the notes of a snapshot or group; "" removes them. Those of a
// snapshot are in its manifest, of which everything else stays: a restore that
// reads the snapshot, and a backup that uses it as base, go on. Those of a group
// are refused while the group is locked (flock.ErrLocked).
//
// After nil the notes are durable. After an error they are the old or the new ones.
func (d *Datastore) SetNotes(ctx context.Context, object backupinfo.Object, text string) error {
	if err := checkNotes(text); err != nil {
		return err
	}
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return err
	}
	defer root.Close()
	if snapshot, ok := object.Snapshot(); ok {
		return d.rewriteManifest(ctx, root, disk, snapshot, func(m *backupinfo.Manifest) error { return m.SetNotes(text) })
	}
	return d.changeGroup(ctx, root, object.Group, func(dir *os.File) error { return writeNotes(disk, dir, text) })
}

func checkNotes(text string) error {
	switch {
	case len(text) > maxNotesSize:
		return fmt.Errorf("notes of %d bytes are too long: at most %d are read", len(text), maxNotesSize)
	case !utf8.ValidString(text):
		return errors.New("notes are not UTF-8")
	}
	return nil
}

// changeGroup changes a file of a group under L2.
func (d *Datastore) changeGroup(ctx context.Context, root *os.File, group backupinfo.Group, change func(dir *os.File) error) (err error) {
	if err := findGroup(root, group); err != nil {
		return err
	}
	var dir *os.File
	set, err := d.acquireBriefly(ctx, func(set *guards) error {
		guard, err := lockGroup(set, root, group)
		if err == nil {
			dir = guard.File()
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	return change(dir)
}

func writeNotes(disk *fsop.Disk, dir *os.File, text string) error {
	if text != "" {
		return disk.WriteFile(dir, backupinfo.NotesName, []byte(text), fileMode)
	}
	return removeFile(disk, dir, backupinfo.NotesName)
}

// removeFile removes a file durably. One that is not there is removed already.
func removeFile(disk *fsop.Disk, dir *os.File, name string) error {
	if err := disk.Remove(dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.SyncDir(dir)
}
