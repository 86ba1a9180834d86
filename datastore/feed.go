package datastore

import (
	"context"
	"io"
)

// feed reads from a source that may hang, on a goroutine of its own, so that a
// cancelled backup ends although its source does not. The goroutine ends with
// the Read that it is in.
type feed struct {
	requests chan []byte
	answers  chan answer
}

type answer struct {
	n   int
	err error
}

func newFeed(source io.Reader) *feed {
	// An answer that nobody waits for any more must not hold the goroutine up.
	f := &feed{requests: make(chan []byte), answers: make(chan answer, 1)}
	go func() {
		for buffer := range f.requests {
			n, err := source.Read(buffer)
			f.answers <- answer{n, err}
		}
	}()
	return f
}

// Close lets the goroutine end. It does not wait for it.
func (f *feed) Close() { close(f.requests) }

// read is one Read of the source. After a cancellation the buffer may still be
// written to, and nothing more can be read.
func (f *feed) read(ctx context.Context, buffer []byte) (int, error) {
	select {
	case f.requests <- buffer:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case a := <-f.answers:
		return a.n, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// full reads until the buffer is full. A source that ends first gives what there was, with io.EOF.
func (f *feed) full(ctx context.Context, buffer []byte) (int, error) {
	filled := 0
	for empty := 0; filled < len(buffer); {
		n, err := f.read(ctx, buffer[filled:])
		filled += n
		if err != nil {
			return filled, err
		}
		if empty++; n > 0 {
			empty = 0
		} else if empty == maxEmptyReads {
			return filled, io.ErrNoProgress
		}
	}
	return filled, nil
}

// maxEmptyReads is how often a source may give nothing and no error.
const maxEmptyReads = 100

// reader is the source as an ordinary reader that ends with ctx.
func (f *feed) reader(ctx context.Context) io.Reader { return feedReader{f, ctx} }

type feedReader struct {
	feed *feed
	ctx  context.Context //nolint:containedctx // a Reader has no other way to get it
}

func (r feedReader) Read(p []byte) (int, error) { return r.feed.read(r.ctx, p) }
