package testds

import (
	"bytes"
	"context"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// Group parses a group of the root namespace, such as "vm/100".
func (s *Store) Group(name string) backupinfo.Group {
	s.T.Helper()
	group, err := backupinfo.ParseGroup(backupinfo.Namespace{}, name)
	if err != nil {
		s.T.Fatal(err)
	}
	return group
}

// Backup makes a finished snapshot of a group with one image of this content.
func (s *Store) Backup(group string, time backupinfo.Time, image []byte) backupinfo.Snapshot {
	s.T.Helper()
	snapshot, err := Backup(contextWithoutEnd(), s.Open(datastore.Options{}), s.Group(group), time, image)
	if err != nil {
		s.T.Fatal(err)
	}
	return snapshot
}

// ImageName and BlobName are the archives of the snapshots that this package makes.
const (
	ImageName = "disk.img"
	BlobName  = "vm.conf"
)

// Backup makes a finished snapshot with an image and a small blob.
func Backup(ctx context.Context, store *datastore.Datastore, group backupinfo.Group, time backupinfo.Time, image []byte) (backupinfo.Snapshot, error) {
	w, err := store.Backup(ctx, group, datastore.BackupOptions{Time: time})
	if err != nil {
		return backupinfo.Snapshot{}, err
	}
	defer w.Close() //nolint:errcheck // what Commit says counts
	if err := Fill(ctx, w, image); err != nil {
		return w.Snapshot(), err
	}
	_, err = w.Commit(ctx)
	return w.Snapshot(), err
}

// Fill adds an image and a small blob to a snapshot.
func Fill(ctx context.Context, w *datastore.SnapshotWriter, image []byte) error {
	name, err := backupinfo.ParseArchiveName(ImageName)
	if err != nil {
		return err
	}
	if _, err := w.AddImage(ctx, name, bytes.NewReader(image), int64(len(image))); err != nil {
		return err
	}
	if name, err = backupinfo.ParseArchiveName(BlobName); err != nil {
		return err
	}
	_, err = w.AddBlob(ctx, name, bytes.NewReader([]byte("memory: 512\n")))
	return err
}
