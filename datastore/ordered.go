package datastore

import (
	"context"
	"sync"
)

// maxAhead is how far a worker may be ahead of the slowest one.
const maxAhead = 1024

// ordered brings what workers did side by side back into order.
type ordered struct {
	add func(piece) error

	mu      sync.Mutex
	moved   *sync.Cond
	next    int
	waiting map[int]piece
}

func newOrdered(add func(piece) error) *ordered {
	o := &ordered{add: add, waiting: make(map[int]piece)}
	o.moved = sync.NewCond(&o.mu)
	return o
}

// wakeOn makes waiting workers notice that ctx has ended. The function it gives undoes that.
func (o *ordered) wakeOn(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.moved.Broadcast()
	})
}

// put hands over the piece with a number. It waits while that is too far ahead.
func (o *ordered) put(ctx context.Context, number int, p piece) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for number-o.next >= maxAhead && ctx.Err() == nil {
		o.moved.Wait()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	o.waiting[number] = p
	for {
		p, there := o.waiting[o.next]
		if !there {
			break
		}
		delete(o.waiting, o.next)
		o.next++
		if err := o.add(p); err != nil {
			return err
		}
	}
	o.moved.Broadcast()
	return nil
}
