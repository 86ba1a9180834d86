package datastore

import (
	"context"
	"fmt"
	"io"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// AddBlob stores a small file, such as a configuration, as one blob of at most
// blob.MaxSize bytes.
func (w *SnapshotWriter) AddBlob(ctx context.Context, name backupinfo.ArchiveName, source io.Reader) (stats ArchiveStats, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, end := w.store.lease.bind(ctx)
	defer end(&err)
	if err := w.admit(ctx, name, backupinfo.Blob); err != nil {
		return ArchiveStats{}, err
	}
	defer func() { w.failed = err }()
	tally := w.newTally(name, 0)
	data, err := readBlob(ctx, source)
	if err != nil {
		return ArchiveStats{}, fmt.Errorf("archive %q: %w", name.Display(), err)
	}
	encoder := blob.NewEncoder()
	defer encoder.Close()
	stored, err := w.crypt.encode(encoder, nil, data)
	if err != nil {
		return ArchiveStats{}, err
	}
	if err := w.writeBlob(name.File(), stored); err != nil {
		return ArchiveStats{}, err
	}
	stats = tally.finish()
	stats.Size, stats.WrittenBytes = uint64(len(data)), uint64(len(stored))
	return stats, w.manifest.AddFile(backupinfo.File{
		Name: name.File(), CryptMode: w.crypt.mode,
		Size: uint64(len(stored)), Checksum: digest.Of(stored),
	})
}

// addKeyCopy stores the copy of the key for the owner of a master key: as it is,
// because who reads it has no other key, and marked as the original marks it.
func (w *SnapshotWriter) addKeyCopy() error {
	encoder := blob.NewEncoder()
	defer encoder.Close()
	stored, err := encoder.EncodePlain(nil, w.keyCopy)
	if err != nil {
		return err
	}
	if err := w.writeBlob(KeyCopyName, stored); err != nil {
		return err
	}
	return w.manifest.AddFile(backupinfo.File{Name: KeyCopyName, CryptMode: w.crypt.mode, Size: uint64(len(stored)), Checksum: digest.Of(stored)})
}

func readBlob(ctx context.Context, source io.Reader) ([]byte, error) {
	feed := newAside(source.Read)
	defer feed.Close()
	data, err := io.ReadAll(io.LimitReader(feed.with(ctx), blob.MaxSize+1))
	if err == nil && len(data) > blob.MaxSize {
		err = fmt.Errorf("longer than the %d MiB that a blob may have: store it as an image or a stream", blob.MaxSize>>20)
	}
	return data, err
}

// writeBlob gives the blob its name. It reaches the disk with the sync before the manifest.
func (w *SnapshotWriter) writeBlob(name string, stored []byte) error {
	f, err := w.disk.CreateTemp(w.dir, fsop.TempPrefix(name), fileMode)
	if err != nil {
		return err
	}
	defer f.Discard() // it does nothing after Commit; what is left otherwise goes with the snapshot
	if _, err := f.Write(stored); err != nil {
		return err
	}
	return f.Commit(name, fsop.CommitOptions{NoReplace: true})
}
