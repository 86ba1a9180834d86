package testds

import (
	"bytes"
	"context"
	"io"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func contextWithoutEnd() context.Context { return context.Background() }

// Finished lists all snapshots that are offered as finished, over all namespaces.
func (s *Store) Finished() (snapshots []backupinfo.Snapshot) {
	s.T.Helper()
	for _, info := range s.Snapshots() {
		if info.Finished {
			snapshots = append(snapshots, info.Snapshot)
		}
	}
	return snapshots
}

// Snapshots lists everything, and fails the test for an entry that can't be listed.
func (s *Store) Snapshots() (all []datastore.SnapshotInfo) {
	s.T.Helper()
	ctx := contextWithoutEnd()
	store := s.Open(datastore.Options{})
	for ns, err := range store.Namespaces(ctx, backupinfo.Namespace{}, -1) {
		s.must(err)
		for group, err := range store.Groups(ctx, ns) {
			s.must(err)
			for info, err := range store.Snapshots(ctx, group.Group) {
				s.must(err)
				all = append(all, info)
			}
		}
	}
	return all
}

func (s *Store) must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Errorf("listing: %v", err)
	}
}

// Restore gives the content of an archive.
func (s *Store) Restore(snapshot backupinfo.Snapshot, archive string) []byte {
	s.T.Helper()
	reader, err := s.Open(datastore.Options{}).OpenSnapshot(contextWithoutEnd(), snapshot, datastore.ReadOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // the restore is what counts
	var content bytes.Buffer
	if err := restore(contextWithoutEnd(), reader, archive, &content); err != nil {
		s.T.Fatal(err)
	}
	return content.Bytes()
}

func restore(ctx context.Context, reader *datastore.SnapshotReader, archive string, to io.Writer) error {
	name, err := backupinfo.ParseArchiveName(archive)
	if err != nil {
		return err
	}
	a, err := reader.OpenArchive(ctx, name)
	if err != nil {
		return err
	}
	defer a.Close() //nolint:errcheck // the restore is what counts
	_, err = a.CopyTo(ctx, to, datastore.RestoreOptions{})
	return err
}
