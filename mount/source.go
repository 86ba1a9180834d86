package mount

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/pbs-like/pbs-like/datastore"
)

// readAt reads of an archive by way of the cache.
func (c *cache) readAt(ctx context.Context, a *openArchive, p []byte, at int64) (n int, err error) {
	for n < len(p) {
		chunk, err := a.archive.ChunkAt(uint64(at) + uint64(n))
		if errors.Is(err, datastore.ErrNotFound) {
			return a.archive.ReadAt(p, at) // a blob, which is in memory
		}
		if err != nil {
			return n, err
		}
		data, err := c.get(ctx, a, chunk)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], data[uint64(at)+uint64(n)-chunk.Start:])
	}
	return n, nil
}

// source is an archive that is opened when it is read, and again when it was closed since.
type source struct {
	leases *leases
	cache  *cache
	id     archiveID
}

// ReadAt reads of the archive, see [io.ReaderAt].
func (s *source) ReadAt(p []byte, at int64) (int, error) {
	ctx := context.Background() // pxar knows of none, and reads a chunk or two
	l, err := s.leases.acquire(ctx, s.id.snapshot)
	if err != nil {
		return 0, err
	}
	defer l.release(0)
	a, err := l.archive(ctx, s.id)
	if err != nil {
		return 0, err
	}
	return s.cache.readAt(ctx, a, p, at)
}

// ahead loads chunks before they are asked for, where an archive is read from front to back.
type ahead struct {
	mu   sync.Mutex
	next uint64 // where the last read ended, or the chunk that it was in
	upTo uint64 // chunks before this are there or on their way
	runs int    // reads in a row that went on where the last one was
}

// window is how many chunks are loaded ahead.
const window = 3

// advance looks at a read that was done, and loads what will be read next.
func (r *ahead) advance(c *cache, a *openArchive, at, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Reads of the kernel come a little out of order.
	const slack = 1 << 20
	if at+slack < r.next || at > r.next+slack {
		r.next, r.runs, r.upTo = at+n, 0, 0
		return
	}
	r.next = max(r.next, at+n)
	if r.runs++; r.runs < 2 {
		return
	}
	position := r.next
	for range window {
		chunk, err := a.archive.ChunkAt(position)
		if err != nil {
			return // whoever reads that far is told
		}
		if position = chunk.End; position > r.upTo {
			c.prefetch(a, chunk)
			r.upTo = position
		}
	}
}

var _ io.ReaderAt = (*source)(nil)
