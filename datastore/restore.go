package datastore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/index"
)

// RestoreOptions are how an archive is restored.
type RestoreOptions struct {
	// Overwrite lets an existing file be replaced, or a block device be written to.
	Overwrite bool
	// Salvage goes on where data is damaged, missing or can't be read, with zeros
	// in its place. The stats name the places, and the error is [ErrCorrupt] all the same.
	Salvage bool
	// NoSync gives a restored file its name before it is on disk: faster, but after a
	// power cut there may be a file of zeros under the name.
	NoSync bool
}

// RestoreStats is what a restore came to.
type RestoreStats struct {
	// Size is what was restored, in bytes.
	Size uint64
	// Chunks is how many chunks that were.
	Chunks int
	// Holes is how many bytes of zeros were left as holes in the file.
	Holes uint64
	// Damaged are the places that a salvage filled with zeros, in order.
	Damaged  []DamagedRange
	Duration time.Duration
}

// DamagedRange is a place in an archive whose data is lost.
type DamagedRange struct {
	Start, End uint64 // bytes; the end is exclusive
	Err        error
}

// restoration is one run over all chunks of an archive, by several goroutines.
type restoration struct {
	archive *Archive
	opts    RestoreOptions
	started time.Time
	zeros   zeroDigests

	next  atomic.Int64
	mu    sync.Mutex
	stats RestoreStats
}

// part is a piece of the archive on its way to where it is restored.
type part struct {
	number     int
	start, end uint64
	data       []byte // nil: zeros
}

func (a *Archive) restoration(opts RestoreOptions) (*restoration, error) {
	if a.damage != nil && !opts.Salvage {
		return nil, a.damage
	}
	r := &restoration{archive: a, opts: opts, started: time.Now()}
	if a.encrypted {
		r.zeros.key = a.reader.key
	}
	return r, nil
}

// run gives every part to write, on several goroutines. Damage that a salvage
// went past is in the stats, and no error.
func (r *restoration) run(ctx context.Context, write func(ctx context.Context, p part) error) error {
	defer func() {
		r.stats.Duration = time.Since(r.started)
		slices.SortFunc(r.stats.Damaged, func(a, b DamagedRange) int { return cmp.Compare(a.Start, b.Start) })
	}()
	if r.archive.index != nil {
		return r.allChunks(ctx, write)
	}
	r.stats.Size = uint64(len(r.archive.data))
	return write(ctx, part{end: r.stats.Size, data: r.archive.data})
}

// verdict is what a run that went to the end says: nil, or that the data is not all there.
func (r *restoration) verdict() error {
	if len(r.stats.Damaged) > 0 {
		return fmt.Errorf("archive %q: %s, filled with zeros: %w", r.archive.name.Display(), lostPlaces(len(r.stats.Damaged)), ErrCorrupt)
	}
	return r.archive.damage
}

func lostPlaces(count int) string {
	if count == 1 {
		return "one place is lost"
	}
	return fmt.Sprintf("%d places are lost", count)
}

func (r *restoration) allChunks(ctx context.Context, write func(ctx context.Context, p part) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), maxCrew, max(r.archive.index.Count(), 1)) {
		loader := r.archive.reader.chunks.NewLoader()
		group.Go(func() error {
			defer loader.Close() //nolint:errcheck // it only frees memory
			return r.work(ctx, loader, write)
		})
	}
	return group.Wait()
}

func (r *restoration) work(ctx context.Context, loader *chunkstore.Loader, write func(ctx context.Context, p part) error) error {
	for {
		number := int(r.next.Add(1) - 1)
		if number >= r.archive.index.Count() {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := r.load(loader, number)
		if err != nil {
			return fmt.Errorf("archive %q: %w", r.archive.name.Display(), err)
		}
		if err := write(ctx, p); err != nil {
			return err
		}
		r.count(p)
	}
}

// load gets one chunk. A chunk of zeros is known by its name, and need not be read.
func (r *restoration) load(loader *chunkstore.Loader, number int) (part, error) {
	chunk, err := r.archive.index.Chunk(number)
	if err != nil {
		return part{}, corruptIf(err, index.ErrCorrupt)
	}
	p := part{number: number, start: chunk.Start, end: chunk.End}
	if r.mayBeZeros(chunk) && r.zeros.of(int(chunk.Size())) == chunk.Digest {
		return p, nil
	}
	p.data, err = r.archive.loadChunk(loader, chunk)
	if err == nil || !r.opts.Salvage || isAboutTheKey(err) {
		return p, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Damaged = append(r.stats.Damaged, DamagedRange{Start: chunk.Start, End: chunk.End, Err: err})
	p.data = nil
	return p, nil
}

// isAboutTheKey tells errors about a key from damage. Zeros in the place of data
// that another key opens would be a lie.
func isAboutTheKey(err error) bool {
	return errors.Is(err, blob.ErrNeedKey) || errors.Is(err, blob.ErrWrongKey) && !errors.Is(err, ErrCorrupt)
}

// mayBeZeros tells the one size of chunk for which it is worth while to know what zeros hash to.
func (r *restoration) mayBeZeros(chunk index.Chunk) bool {
	if r.archive.index.Kind() == index.Fixed {
		return chunk.Size() == r.archive.index.ChunkSize()
	}
	return chunk.Size() == maxStreamChunk
}

func (r *restoration) count(p part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Chunks++
	r.stats.Size += p.end - p.start
	r.archive.reader.store.opts.Events.progress(Progress{
		Operation: "restore",
		Object:    r.archive.reader.snapshot.Dir() + "/" + r.archive.name.Display(), Done: r.stats.Size, Total: r.archive.Size(),
	})
}

// CopyTo writes the whole archive, in order, while the next chunks are being
// read and proven. What was written before an error is good. Where ctx ends while
// a Write hangs, the call returns and that Write is left alone.
func (a *Archive) CopyTo(ctx context.Context, w io.Writer, opts RestoreOptions) (RestoreStats, error) {
	r, err := a.restoration(opts)
	if err != nil {
		return RestoreStats{}, err
	}
	turns := newTurns()
	out := newAside(w.Write)
	defer out.Close()
	// A Write ends with the caller's context only: when a chunk turns out to be bad, w is at rest before the call returns.
	patient := out.with(ctx)
	err = r.run(ctx, func(ctx context.Context, p part) error {
		defer context.AfterFunc(ctx, turns.wake)()
		return turns.take(ctx, p.number, func() error { return writePart(patient, p) })
	})
	if err == nil {
		err = r.verdict()
	}
	return r.stats, err
}

func writePart(w io.Writer, p part) error {
	if p.data != nil {
		_, err := w.Write(p.data)
		return err
	}
	var block [64 << 10]byte
	for left := p.end - p.start; left > 0; {
		n, err := w.Write(block[:min(left, uint64(len(block)))])
		if err != nil {
			return err
		}
		left -= uint64(n)
	}
	return nil
}

// turns lets goroutines do something one after the other, in the order of their numbers.
type turns struct {
	mu    sync.Mutex
	moved *sync.Cond
	next  int
}

func newTurns() *turns {
	t := &turns{}
	t.moved = sync.NewCond(&t.mu)
	return t
}

func (t *turns) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moved.Broadcast()
}

func (t *turns) take(ctx context.Context, number int, do func() error) error {
	t.mu.Lock()
	for t.next != number && ctx.Err() == nil {
		t.moved.Wait()
	}
	t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	err := do()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	t.moved.Broadcast()
	return err
}
