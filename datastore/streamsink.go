package datastore

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// sideBySide is a sink whose chunks are stored by workers while the next one is cut.
type sideBySide struct {
	ctx   context.Context //nolint:containedctx // it ends when a worker fails
	group *errgroup.Group
	cuts  chan cut
	free  chan []byte
	line  *ordered
	wake  func() bool
}

// sideBySide starts the workers. add gets the pieces in order.
func (c *crew) sideBySide(ctx context.Context, add func(piece) error) *sideBySide {
	s := &sideBySide{cuts: make(chan cut), free: c.ring(), line: newOrdered(add)}
	s.group, s.ctx = errgroup.WithContext(ctx)
	s.wake = s.line.wakeOn(s.ctx) //nolint:contextcheck // that of the group is below ctx
	for _, worker := range c.workers[:streamWorkers] {
		s.group.Go(func() error { return s.work(worker) })
	}
	return s
}

func (s *sideBySide) work(worker *worker) error {
	for c := range s.cuts {
		stored, err := worker.store(s.ctx, c.data)
		if err != nil {
			return err
		}
		s.free <- c.data[:0]
		if err := s.line.put(s.ctx, c.number, stored); err != nil {
			return err
		}
	}
	return nil
}

func (s *sideBySide) send(c cut) ([]byte, error) {
	select {
	case s.cuts <- c:
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
	select {
	case next := <-s.free:
		return next, nil
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
}

func (s *sideBySide) put(number int, p piece) error { return s.line.put(s.ctx, number, p) }

func (s *sideBySide) end() error {
	close(s.cuts)
	defer s.wake()
	return s.group.Wait()
}

// maxStreamChunk is the largest chunk that is cut of a stream.
const maxStreamChunk = 4 * streamChunkSize

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

// inPlace is a sink that stores a chunk before it goes on. It is for little data beside other archives,
// and has nothing to end.
type inPlace struct {
	ctx    context.Context //nolint:containedctx // that of the operation it is in now
	worker *worker
	add    func(piece) error
}

func (s *inPlace) send(c cut) ([]byte, error) {
	stored, err := s.worker.store(s.ctx, c.data)
	if err != nil {
		return nil, err
	}
	return c.data[:0], s.add(stored)
}

func (s *inPlace) put(_ int, p piece) error { return s.add(p) }
func (s *inPlace) end() error               { return nil }
