package datastore

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/index"
)

// imageChunkSize is the chunk size of a fixed index, the one that the original's client uses.
const imageChunkSize = 4 << 20

// AddImage stores a disk image of a known size as a fixed index. The source is
// read by several goroutines at once. It must not become shorter meanwhile.
func (w *SnapshotWriter) AddImage(ctx context.Context, name backupinfo.ArchiveName, source io.ReaderAt, size int64) (ArchiveStats, error) {
	return w.addImage(ctx, name, &sizedImage{source: source, size: size}, uint64(size))
}

// AddImageStream stores a disk image that comes through a pipe as a fixed index.
//
// Where ctx ends while a Read hangs, the call returns and that Read is left
// alone: its source has to be closed by the caller.
func (w *SnapshotWriter) AddImageStream(ctx context.Context, name backupinfo.ArchiveName, source io.Reader) (ArchiveStats, error) {
	feed := newAside(source.Read)
	defer feed.Close()
	return w.addImage(ctx, name, &streamedImage{feed: feed}, 0)
}

func (w *SnapshotWriter) addImage(ctx context.Context, name backupinfo.ArchiveName, source imageSource, total uint64) (stats ArchiveStats, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, end := w.store.lease.bind(ctx)
	defer end(&err)
	if err := w.admit(ctx, name, backupinfo.FixedIndex); err != nil {
		return ArchiveStats{}, err
	}
	defer func() { w.failed = err }()
	entry, err := w.newIndex(ctx, name, backupinfo.FixedIndex, total)
	if err != nil {
		return ArchiveStats{}, err
	}
	defer entry.discard()
	fixed, err := index.NewFixedWriter(entry.entries, imageChunkSize)
	if err != nil {
		return ArchiveStats{}, err
	}
	line := newOrdered(func(p piece) error {
		entry.tally.add(p)
		return fixed.Add(p.digest)
	})
	if err := w.storeImage(ctx, source, line); err != nil {
		return ArchiveStats{}, fmt.Errorf("archive %q: %w", name.Display(), err)
	}
	stats = entry.tally.finish()
	uuid, created := newIndexID()
	header, checksum, err := fixed.Finish(stats.Size, uuid, created)
	if err != nil {
		return ArchiveStats{}, err
	}
	return stats, w.finishIndex(entry, header, checksum, stats)
}

// storeImage lets every worker take the next block, until there is none.
func (w *SnapshotWriter) storeImage(ctx context.Context, source imageSource, line *ordered) error {
	group, ctx := errgroup.WithContext(ctx)
	defer line.wakeOn(ctx)()
	for _, worker := range w.crew.workers {
		group.Go(func() error {
			for {
				number, data, err := source.next(ctx, worker)
				if err == io.EOF { //nolint:errorlint // the sources of this package give it bare
					return nil
				}
				if err != nil {
					return err
				}
				stored, err := worker.store(ctx, data)
				if err != nil {
					return err
				}
				if err := line.put(ctx, number, stored); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}
