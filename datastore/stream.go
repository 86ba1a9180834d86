package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/index"
)

const (
	// streamChunkSize is the average chunk size of a dynamic index, the one that the original's client uses.
	streamChunkSize = 4 << 20
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
	s, err := w.newStream(ctx, name, 0, streamChunkSize)
	if err != nil {
		return ArchiveStats{}, err
	}
	feed := newAside(source.Read)
	defer feed.Close()
	if err := s.fill(feed.with(s.streamCutter.ctx)); err != nil { //nolint:contextcheck // likewise, see startSideBySide
		return ArchiveStats{}, fmt.Errorf("archive %q: %w", name.Display(), s.giveUp(err))
	}
	if stats, err = s.finish(); err != nil {
		err = fmt.Errorf("archive %q: %w", name.Display(), err)
	}
	return stats, err
}

// stream is a dynamic index on its way: what is written is cut into chunks, which
// are stored. It is written to by one goroutine, and has to be finished or given up.
type stream struct {
	*streamCutter
	writer  *SnapshotWriter
	entry   *indexFile
	dynamic *index.DynamicWriter
	ended   bool // nothing works for it any more
}

// chunkSink takes the chunks of a stream.
type chunkSink interface {
	// send takes a chunk to be stored, and gives an empty buffer for the next one. The
	// chunk may still be read until it is written to by the caller.
	send(c cut) ([]byte, error)
	// put takes a chunk that is in the store already.
	put(number int, p piece) error
	// end waits until everything is stored, or gives the reason why that can't be.
	end() error
}

// cut is a chunk that was cut off the stream, in a buffer of the sink.
type cut struct {
	number int
	data   []byte
}

// newStream begins a stream, of an archive that the crew stores side by side.
// Total is its size in bytes, if that is known, and average that of its chunks.
func (w *SnapshotWriter) newStream(ctx context.Context, name backupinfo.ArchiveName, total uint64, average int) (*stream, error) {
	s, err := w.openStream(ctx, name, total)
	if err != nil {
		return nil, err
	}
	return s, s.startSideBySide(ctx, average)
}

// openStream begins the index of a stream. No chunk is stored before one of the start functions is called.
func (w *SnapshotWriter) openStream(ctx context.Context, name backupinfo.ArchiveName, total uint64) (*stream, error) {
	entry, err := w.newIndex(ctx, name, backupinfo.DynamicIndex, total)
	if err != nil {
		return nil, err
	}
	return &stream{writer: w, entry: entry, dynamic: index.NewDynamicWriter(entry.entries)}, nil
}

// startSideBySide lets the first workers of the crew store the chunks.
func (s *stream) startSideBySide(ctx context.Context, average int) error {
	side := s.writer.crew.sideBySide(ctx, s.add)
	return s.start(side.ctx, side, <-side.free, average) //nolint:contextcheck // it is below ctx, and ends when a worker fails
}

// startInPlace lets who writes store the chunks.
func (s *stream) startInPlace(ctx context.Context, average int) error {
	return s.start(ctx, &inPlace{ctx: ctx, worker: s.writer.crew.workers[streamWorkers], add: s.add}, make([]byte, 0, 4*average), average)
}

func (s *stream) start(ctx context.Context, sink chunkSink, buffer []byte, average int) (err error) {
	if s.streamCutter, err = newStreamCutter(ctx, sink, buffer, average); err != nil {
		return s.giveUp(err)
	}
	return nil
}

// add takes the pieces in order.
func (s *stream) add(p piece) error {
	s.entry.tally.add(p)
	return s.dynamic.Add(s.dynamic.Size()+uint64(p.size), p.digest)
}

// finish stores the rest and gives the index its name.
func (s *stream) finish() (stats ArchiveStats, err error) {
	if err := errors.Join(s.cutHere(), s.ctx.Err()); err != nil {
		return ArchiveStats{}, s.giveUp(err)
	}
	s.ended = true
	defer s.entry.discard()
	if err := s.sink.end(); err != nil {
		return ArchiveStats{}, err
	}
	stats = s.entry.tally.finish()
	uuid, created := newIndexID()
	header, checksum, err := s.dynamic.Finish(uuid, created)
	if err != nil {
		return ArchiveStats{}, err
	}
	return stats, s.writer.finishIndex(s.entry, header, checksum, stats)
}

// giveUp ends what works for the stream and removes the index, where that was not done. Of the errors it
// gives the first cause: a chunk that could not be stored makes writing fail, too.
func (s *stream) giveUp(err error) error {
	if s.ended {
		return err
	}
	s.ended = true
	defer s.entry.discard()
	if s.streamCutter != nil {
		if cause := s.sink.end(); cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
	}
	return err
}
