package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// imageSource gives the blocks of an image, numbered from 0, to several workers.
// The data lies in the worker's own buffer. The end is io.EOF.
type imageSource interface {
	next(ctx context.Context, w *worker) (number int, data []byte, err error)
}

// sizedImage is an image that can be read anywhere: every worker reads its own
// blocks, straight into the cache of the core that hashes them.
type sizedImage struct {
	source io.ReaderAt
	size   int64
	blocks atomic.Int64
}

func (s *sizedImage) next(ctx context.Context, w *worker) (int, []byte, error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	number := s.blocks.Add(1) - 1
	offset := number * imageChunkSize
	if offset >= s.size {
		return 0, nil, io.EOF
	}
	data := w.space(imageChunkSize)[:min(imageChunkSize, s.size-offset)]
	n, err := s.source.ReadAt(data, offset)
	if n == len(data) {
		return int(number), data, nil
	}
	if errors.Is(err, io.EOF) {
		return 0, nil, fmt.Errorf("the source has become shorter than %d bytes while it was read", s.size)
	}
	return 0, nil, err
}

// streamedImage is an image that comes in order: the workers take turns at reading.
type streamedImage struct {
	mu     sync.Mutex
	feed   *aside
	blocks int
	ended  bool
}

func (s *streamedImage) next(ctx context.Context, w *worker) (int, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, nil, io.EOF
	}
	data := w.space(imageChunkSize)
	n, err := s.feed.full(ctx, data)
	if err != nil && !errors.Is(err, io.EOF) {
		s.ended = true
		return 0, nil, err
	}
	s.ended = err != nil
	if n == 0 {
		return 0, nil, io.EOF
	}
	number := s.blocks
	s.blocks++
	return number, data[:n], nil
}
