package datastore

import (
	"context"
	"errors"
	"io"

	"github.com/pbs-like/pbs-like/chunker"
)

// streamCutter cuts what is written to it, or what it reads, into chunks. It reads straight into
// the buffers in which the chunks are hashed; only what lies beyond a cut is copied.
//
// Besides the places that the data itself chooses there are marks: where a file
// ends in a payload, so that the chunks of files that don't change stay the same.
type streamCutter struct {
	ctx     context.Context //nolint:containedctx // a Writer has no other way to get it
	chunker *chunker.Chunker
	sink    chunkSink
	chunk   []byte // what there is of the present chunk
	number  int
	// begin is where the present chunk begins in the stream, mark where a cut is wished for, 0 for nowhere.
	begin, mark uint64
}

func newStreamCutter(ctx context.Context, sink chunkSink, buffer []byte, average int) (*streamCutter, error) {
	chunks, err := chunker.New(average)
	return &streamCutter{ctx: ctx, chunker: chunks, sink: sink, chunk: buffer[:0]}, err
}

// largest is how large a chunk may be. A buffer is no smaller.
func (s *streamCutter) largest() int { return s.chunker.Rule().Max() }

// position is how much was written.
func (s *streamCutter) position() uint64 { return s.begin + uint64(len(s.chunk)) }

// fill reads a source to its end.
func (s *streamCutter) fill(source io.Reader) error {
	_, err := s.ReadFrom(source)
	return err
}

// ReadFrom makes io.Copy read into the buffer of the chunk.
func (s *streamCutter) ReadFrom(source io.Reader) (total int64, err error) {
	for empty := 0; ; empty++ {
		if s.ctx.Err() != nil {
			return total, context.Cause(s.ctx)
		}
		have := len(s.chunk)
		if have == s.largest() { // only at a mark that is no cut yet
			if err := s.cutHere(); err != nil {
				return total, err
			}
			continue
		}
		n, err := source.Read(s.chunk[have:min(have+readSize, s.largest())])
		total += int64(n)
		if n > 0 {
			empty = 0
			if err := s.take(n); err != nil {
				return total, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		case empty == maxEmptyReads:
			return total, io.ErrNoProgress
		}
	}
}

// Write takes a copy of p.
func (s *streamCutter) Write(p []byte) (total int, err error) {
	for total < len(p) && err == nil {
		have := len(s.chunk)
		if have == s.largest() {
			if err := s.cutHere(); err != nil {
				return total, err
			}
			continue
		}
		n := copy(s.chunk[have:s.largest()], p[total:])
		total += n
		err = s.take(n)
	}
	return total, err
}

// take looks for cuts in the n bytes that were put behind the present chunk.
func (s *streamCutter) take(n int) error {
	fresh := s.chunk[len(s.chunk) : len(s.chunk)+n]
	for {
		end := s.find(fresh)
		if end == 0 {
			s.chunk = s.chunk[:len(s.chunk)+len(fresh)]
			return nil
		}
		rest := fresh[end:]
		next, err := s.send(s.chunk[:len(s.chunk)+end])
		if err != nil {
			return err
		}
		// The rest still lies behind the chunk that was sent: nobody but us writes
		// to a buffer. It may even be the one that came back.
		fresh = next[:cap(next)][:copy(next[:len(rest)], rest)]
		s.chunk = next[:0]
	}
}

// find gives where the present chunk ends in what is fresh, or 0. A mark in it that
// makes a chunk of a good size goes before what the data says: the chunk ends there with the next call of expect, and
// where only the stream's tail follows it takes that along.
func (s *streamCutter) find(fresh []byte) int {
	if s.mark > 0 && s.mark == s.position()+uint64(len(fresh)) {
		size := s.mark - s.begin
		if size < uint64(s.chunker.Rule().Min()) {
			s.mark = 0
		} else if size <= uint64(s.largest()) {
			s.mark = 0
			return 0
		}
	}
	return s.chunker.Scan(fresh)
}

// send hands the chunk over and gives a buffer for the next one.
func (s *streamCutter) send(chunk []byte) ([]byte, error) {
	next, err := s.sink.send(cut{s.number, chunk})
	if err != nil {
		return nil, err
	}
	s.number++
	s.begin += uint64(len(chunk))
	return next, nil
}

// expect tells that the next n bytes belong together: a cut is wished for before and behind them.
func (s *streamCutter) expect(n uint64) error {
	if len(s.chunk) >= s.chunker.Rule().Min() {
		if err := s.cutHere(); err != nil {
			return err
		}
	}
	s.mark = s.position() + n
	return nil
}

// cutHere ends the present chunk, whatever its size; one without data is none.
func (s *streamCutter) cutHere() error {
	s.chunker.Reset()
	s.mark = 0
	if len(s.chunk) == 0 {
		return nil
	}
	next, err := s.send(s.chunk)
	if err != nil {
		return err
	}
	s.chunk = next[:0]
	return nil
}

// inject puts chunks into the stream that are in the store already.
func (s *streamCutter) inject(pieces []piece) error {
	if err := s.cutHere(); err != nil {
		return err
	}
	for _, p := range pieces {
		if err := s.sink.put(s.number, p); err != nil {
			return err
		}
		s.number++
		s.begin += uint64(p.size)
	}
	return nil
}
