package datastore

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/index"
)

const (
	// streamChunkSize is the average chunk size of a dynamic index, the one that the original's client uses.
	streamChunkSize = 4 << 20
	// maxStreamChunk is the largest chunk that is cut then.
	maxStreamChunk = 4 * streamChunkSize
	// streamWorkers keep up with one goroutine that cuts. The chunks in their hands are large.
	streamWorkers = 2
	// readSize is how much is read of a stream at a time: little enough to stay in the cache until it is hashed.
	readSize = 256 << 10
)

// AddStream stores a stream of any length as a dynamic index.
//
// Where ctx ends while a Read hangs, the call returns and that Read is left
// alone: its source has to be closed by the caller.
func (w *SnapshotWriter) AddStream(ctx context.Context, name backupinfo.ArchiveName, source io.Reader) (stats ArchiveStats, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, end := w.store.lease.bind(ctx)
	defer end(&err)
	if err := w.admit(ctx, name, backupinfo.DynamicIndex); err != nil {
		return ArchiveStats{}, err
	}
	defer func() { w.failed = err }()
	entry, err := w.newIndex(ctx, name, backupinfo.DynamicIndex, 0)
	if err != nil {
		return ArchiveStats{}, err
	}
	defer entry.discard()
	dynamic := index.NewDynamicWriter(entry.entries)
	line := newOrdered(func(p piece) error {
		entry.tally.add(p)
		return dynamic.Add(dynamic.Size()+uint64(p.size), p.digest)
	})
	if err := w.storeStream(ctx, source, line); err != nil {
		return ArchiveStats{}, fmt.Errorf("archive %q: %w", name.Display(), err)
	}
	stats = entry.tally.finish()
	uuid, created := newIndexID()
	header, checksum, err := dynamic.Finish(uuid, created)
	if err != nil {
		return ArchiveStats{}, err
	}
	return stats, w.finishIndex(entry, header, checksum, stats)
}

// cut is a chunk that was cut off the stream, in a buffer of the ring.
type cut struct {
	number int
	data   []byte
}

// storeStream cuts the stream on one goroutine and stores the chunks on the others.
func (w *SnapshotWriter) storeStream(ctx context.Context, source io.Reader, line *ordered) error {
	group, ctx := errgroup.WithContext(ctx)
	defer line.wakeOn(ctx)()
	feed := newAside(source.Read)
	defer feed.Close()
	cuts := make(chan cut)
	free := w.crew.ring()
	cutter, err := newStreamCutter(free, cuts)
	if err != nil {
		return err
	}
	group.Go(func() error {
		defer close(cuts)
		return cutter.run(ctx, feed.with(ctx))
	})
	for _, worker := range w.crew.workers[:streamWorkers] {
		group.Go(func() error {
			for c := range cuts {
				stored, err := worker.store(ctx, c.data)
				if err != nil {
					return err
				}
				free <- c.data[:0]
				if err := line.put(ctx, c.number, stored); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// ring gives the buffers for the chunks of a stream: one that is filled and one
// for each worker that stores them. Each has room for the largest chunk; memory is only used as
// far as it is written to.
func (c *crew) ring() chan []byte {
	if c.buffers == nil {
		c.buffers = make([][]byte, streamWorkers+1)
		for i := range c.buffers {
			c.buffers[i] = make([]byte, 0, maxStreamChunk)
		}
	}
	free := make(chan []byte, len(c.buffers))
	for _, buffer := range c.buffers {
		free <- buffer
	}
	return free
}
