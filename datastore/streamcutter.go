package datastore

import (
	"context"
	"errors"
	"io"

	"github.com/pbs-like/pbs-like/chunker"
)

// streamCutter reads a stream straight into the buffers in which its chunks are
// hashed, and cuts it. Only what was read beyond a cut is copied.
type streamCutter struct {
	chunker *chunker.Chunker
	free    <-chan []byte
	cuts    chan<- cut
	chunk   []byte // what there is of the present chunk
	number  int
}

func newStreamCutter(free <-chan []byte, cuts chan<- cut) (*streamCutter, error) {
	chunks, err := chunker.New(streamChunkSize)
	return &streamCutter{chunker: chunks, free: free, cuts: cuts}, err
}

func (s *streamCutter) run(ctx context.Context, source io.Reader) error {
	s.chunk = (<-s.free)[:0]
	for empty := 0; ; empty++ {
		have := len(s.chunk)
		n, err := source.Read(s.chunk[have:min(have+readSize, cap(s.chunk))])
		if n > 0 {
			empty = 0
		}
		if err := s.take(ctx, n); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF):
			return s.last(ctx)
		case err != nil:
			return err
		case empty == maxEmptyReads:
			return io.ErrNoProgress
		}
	}
}

// take looks for cuts in the n bytes that were read behind the present chunk.
func (s *streamCutter) take(ctx context.Context, n int) error {
	fresh := s.chunk[len(s.chunk) : len(s.chunk)+n]
	for {
		end := s.chunker.Scan(fresh)
		if end == 0 {
			s.chunk = s.chunk[:len(s.chunk)+len(fresh)]
			return nil
		}
		rest := fresh[end:]
		next, err := s.send(ctx, s.chunk[:len(s.chunk)+end])
		if err != nil {
			return err
		}
		// The rest still lies behind the chunk that was sent: nobody but us writes
		// to a buffer. It may even be the one that came back.
		fresh = next[:copy(next[:len(rest)], rest)]
		s.chunk = next[:0]
	}
}

// last sends what is left at the end of the stream.
func (s *streamCutter) last(ctx context.Context) error {
	if len(s.chunk) == 0 {
		return nil
	}
	_, err := s.send(ctx, s.chunk)
	return err
}

// send hands a chunk to a worker and gives a buffer for the next one.
func (s *streamCutter) send(ctx context.Context, chunk []byte) ([]byte, error) {
	select {
	case s.cuts <- cut{s.number, chunk}:
		s.number++
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case next := <-s.free:
		return next[:cap(next)], nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
