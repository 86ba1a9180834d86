package datastore

import (
	"context"
	"io"
)

// aside makes calls that may hang, such as a Read or Write of a pipe, on a
// goroutine of its own, so that a cancelled operation ends although the other end
// of the pipe does not. The goroutine ends with the call that it is in.
type aside struct {
	requests chan []byte
	answers  chan answer
}

type answer struct {
	n   int
	err error
}

func newAside(call func([]byte) (int, error)) *aside {
	// An answer that nobody waits for any more must not hold the goroutine up.
	a := &aside{requests: make(chan []byte), answers: make(chan answer, 1)}
	go func() {
		for buffer := range a.requests {
			n, err := call(buffer)
			a.answers <- answer{n, err}
		}
	}()
	return a
}

// Close lets the goroutine end. It does not wait for it.
func (a *aside) Close() { close(a.requests) }

// do makes one call. After a cancellation that call may still be under way with
// the buffer, which must not be used for anything else then, and no more can be made.
func (a *aside) do(ctx context.Context, buffer []byte) (int, error) {
	select {
	case a.requests <- buffer:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case done := <-a.answers:
		return done.n, done.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// maxEmptyReads is how often a source may give nothing and no error.
const maxEmptyReads = 100

// full reads until the buffer is full. A source that ends first gives what there was, with io.EOF.
func (a *aside) full(ctx context.Context, buffer []byte) (int, error) {
	filled := 0
	for empty := 0; filled < len(buffer); {
		n, err := a.do(ctx, buffer[filled:])
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

// with makes it an ordinary reader or writer that ends with ctx.
func (a *aside) with(ctx context.Context) asideStream { return asideStream{a, ctx} }

type asideStream struct {
	aside *aside
	ctx   context.Context //nolint:containedctx // a Reader or Writer has no other way to get it
}

func (s asideStream) Read(p []byte) (int, error)  { return s.aside.do(s.ctx, p) }
func (s asideStream) Write(p []byte) (int, error) { return s.aside.do(s.ctx, p) }
