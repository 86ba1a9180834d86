package mount

import (
	"context"
	"fmt"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
)

// archiveID is what an archive is told by: as long as it is the same, so is the data.
type archiveID struct {
	snapshot backupinfo.Snapshot
	name     backupinfo.ArchiveName
	// listed says that the manifest has it, with this checksum and size. Of what it does not
	// list the checksum is that of the data.
	listed   bool
	checksum digest.Digest
	size     uint64
}

func (id archiveID) String() string { return id.snapshot.Dir() + "/" + id.name.File() }

func (id archiveID) stale() error { return fmt.Errorf("archive %q: %w", id, errStale) }

// openArchive is an archive of a lease.
type openArchive struct {
	lease   *lease
	archive *datastore.Archive
}

// same tells whether the snapshot still has the archive, without opening it.
func (l *lease) same(id archiveID) error {
	entry, listed := l.reader.Manifest().File(id.name.File())
	if listed != id.listed || listed && (entry.Checksum != id.checksum || entry.Size != id.size) {
		return id.stale()
	}
	return nil
}

// archive opens an archive, once.
func (l *lease) archive(ctx context.Context, id archiveID) (*openArchive, error) {
	if err := l.same(id); err != nil {
		return nil, err
	}
	a, err := l.open(ctx, id.name)
	if err != nil || id.listed {
		return a, err
	}
	if checksum, err := a.digest(); err != nil || checksum != id.checksum {
		return nil, id.stale()
	}
	return a, nil
}

func (l *lease) open(ctx context.Context, name backupinfo.ArchiveName) (*openArchive, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.archives[name]; a != nil {
		return a, nil
	}
	archive, err := l.reader.OpenArchive(ctx, name)
	if err != nil {
		return nil, err
	}
	a := &openArchive{lease: l, archive: archive}
	l.archives[name] = a
	return a, nil
}

// digest is that of the data of a blob.
func (a *openArchive) digest() (digest.Digest, error) {
	data := make([]byte, a.archive.Size())
	if len(data) > 0 {
		if _, err := a.archive.ReadAt(data, 0); err != nil {
			return digest.Digest{}, err
		}
	}
	return digest.Of(data), nil
}

// identify gives the identity of an archive that the manifest lists, or of a blob that it does not.
func (l *lease) identify(ctx context.Context, name backupinfo.ArchiveName) (archiveID, error) {
	id := archiveID{snapshot: l.snapshot, name: name}
	if entry, listed := l.reader.Manifest().File(name.File()); listed {
		id.listed, id.checksum, id.size = true, entry.Checksum, entry.Size
		return id, nil
	}
	a, err := l.open(ctx, name)
	if err != nil {
		return id, err
	}
	id.size = a.archive.Size()
	id.checksum, err = a.digest()
	return id, err
}
