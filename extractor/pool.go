package extractor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/pbs-like/pbs-like/pxar"
)

// One goroutine reads the archive, forward, which is what its source is best at; workers write. Memory is in the buffers.
const (
	bufferSize       = 1 << 20
	buffersPerWorker = 4
)

// pool are the workers.
type pool struct {
	jobs    chan job
	free    chan []byte // buffers; nil ones are made when they are needed
	workers sync.WaitGroup

	waiting sync.Mutex
	moved   *sync.Cond
	open    int // jobs that were given and are not done
}

// job is an entry to be made.
type job struct {
	d       *directory
	e       *pxar.Entry
	content *content // of a file
	copied  bool     // in the place of a hard link
	late    bool     // it may be a second one of its name

	temporary string // the name until it is made
}

// content is what a file is to have, piece by piece.
type content struct {
	pieces chan piece
	given  atomic.Bool // up by the worker
}

type piece struct {
	data []byte
	err  error // ends it
}

// errDamaged marks contents that could not be read.
var errDamaged = errors.New("the content can't be read")

func (r *run) start() {
	n := r.opts.Workers
	r.jobs, r.free = make(chan job, n), make(chan []byte, n*buffersPerWorker)
	r.moved = sync.NewCond(&r.waiting)
	for range cap(r.free) {
		r.free <- nil
	}
	for range n {
		r.workers.Go(r.work)
	}
}

// wait ends the workers when they have done what was given to them.
func (r *run) wait() {
	close(r.jobs)
	r.workers.Wait()
}

// idle waits until nothing is left to be done.
func (r *run) idle() {
	r.waiting.Lock()
	defer r.waiting.Unlock()
	for r.open > 0 {
		r.moved.Wait()
	}
}

func (r *run) count(change int) {
	r.waiting.Lock()
	defer r.waiting.Unlock()
	r.open += change
	r.moved.Broadcast()
}

// give hands a job over.
func (r *run) give(j job) error {
	j.d.use()
	r.count(1)
	r.jobs <- j // the workers take jobs until there are none, also after an error
	return nil
}

func (r *run) work() {
	for j := range r.jobs {
		err := context.Cause(r.ctx)
		if err == nil {
			err = r.make(j)
		}
		if j.content != nil {
			r.drop(j.content)
		}
		if err != nil {
			r.entryFailed(j.e, err)
		}
		if j.e.Kind == pxar.File {
			r.files.end(j.e.Position())
		}
		j.d.release()
		r.count(-1)
	}
}

// content reads a file and hands its pieces to a worker as they come.
func (r *run) content(j job) error {
	j.content = &content{pieces: make(chan piece, buffersPerWorker)}
	defer close(j.content.pieces)
	source, err := r.archive.Content(j.e)
	if err != nil {
		r.files.fail(j.e.Position())
		r.files.end(j.e.Position())
		return err
	}
	left := int64(j.e.Size)
	first := r.next(source, min(left, bufferSize))
	if first.err != nil { // nothing was begun
		r.files.fail(j.e.Position())
		r.files.end(j.e.Position())
		return first.err
	}
	j.content.pieces <- first
	if err := r.give(j); err != nil {
		return err
	}
	for left -= int64(len(first.data)); left > 0 && !j.content.given.Load(); {
		p := r.next(source, min(left, bufferSize))
		j.content.pieces <- p
		if p.err != nil {
			break
		}
		left -= int64(len(p.data))
		r.progress()
	}
	return nil
}

// next reads a piece, of n bytes.
func (r *run) next(source io.Reader, n int64) piece {
	if n == 0 {
		return piece{}
	}
	var buffer []byte
	select {
	case buffer = <-r.free:
	case <-r.ctx.Done():
		return piece{err: context.Cause(r.ctx)}
	}
	if buffer == nil {
		buffer = make([]byte, bufferSize)
	}
	if _, err := io.ReadFull(source, buffer[:n]); err != nil {
		r.free <- buffer
		return piece{err: fmt.Errorf("%w: %w", errDamaged, err)}
	}
	return piece{data: buffer[:n]}
}

// drop gives back what a worker did not take of a content.
func (r *run) drop(c *content) {
	c.given.Store(true)
	for p := range c.pieces {
		r.recycle(p)
	}
}

func (r *run) recycle(p piece) {
	if p.data != nil {
		r.free <- p.data[:bufferSize]
	}
}
