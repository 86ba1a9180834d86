package storelock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// cleanupTime is how long the clean-up of an attempt that is given up may take.
const cleanupTime = 5 * time.Second

// runner does in the real world what machines ask for.
type runner struct {
	backend Backend
	clock   clock
	limit   time.Duration // how long one call of the store may take
	keep    time.Duration // how long it is worth looking for what arrives late
	uses    uses
}

func newRunner(b Backend, o Options, cfg *config) *runner {
	r := &runner{
		backend: b, clock: o.test.clock, limit: min(max(cfg.stale/6, time.Second), 30*time.Second), keep: cfg.stale,
		uses: uses{n: 1, idle: o.Idle}, // the attempt, then its guard
	}
	if r.clock == nil {
		r.clock = newSystemClock()
	}
	return r
}

// run drives a machine to its end. When ctx is done, cancelled is called once, and
// the rest of the requests get a short time of their own: they clean up.
func (r *runner) run(ctx context.Context, m machine, next request, cancelled func(error), cleanup time.Duration) {
	for over := false; next.op != opDone; {
		a := r.doFor(ctx, next, min(cleanup, cleanupTime))
		if !over && ctx.Err() != nil {
			over = true
			cancelled(context.Cause(ctx))
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), min(cleanup, cleanupTime))
			defer stop()
		}
		next = m.step(r.clock.now(), a)
	}
}

// do is doFor with a short patience.
func (r *runner) do(ctx context.Context, q request) answer { return r.doFor(ctx, q, r.keep/60) }

// doFor makes one call. When its time is over it is waited for a little longer: a store
// that obeys its context says at once what came of the call, and one that doesn't
// may be about to be done.
func (r *runner) doFor(ctx context.Context, q request, patience time.Duration) answer {
	if q.op == opWait {
		return answer{err: r.pause(ctx, q.wait)}
	}
	ctx, stop := context.WithTimeoutCause(ctx, r.limit, errSlow)
	defer stop()
	done := make(chan answer, 1)
	var over atomic.Bool // either the answer is there, or nobody waits for it any more
	r.uses.begin()
	go func() {
		a := r.call(ctx, q)
		if over.CompareAndSwap(false, true) {
			r.uses.end() // before the answer: with the last one the store is closed, and then nothing of it is open any more
			done <- a
			return
		}
		if q.op == opStore && a.err == nil {
			r.forget([]string{q.name})
		}
		r.uses.end()
	}()
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
	}
	c, free := r.clock.after(patience)
	defer free()
	select {
	case a := <-done:
		return a
	case <-c:
	}
	if !over.CompareAndSwap(false, true) {
		return <-done
	}
	// Left behind is a call that does not return, such as one on a network file
	// system whose server is away: no deadline reaches it in the kernel.
	return answer{err: fmt.Errorf("%q in %q: %w", q.name, r.backend.String(), context.Cause(ctx))}
}

var errSlow = errors.New("the store takes too long")

func (r *runner) call(ctx context.Context, q request) (a answer) {
	switch q.op {
	case opList:
		a.keys, a.err = r.backend.List(ctx, q.name)
	case opLoad:
		a.data, a.err = r.backend.Load(ctx, q.name)
	case opStore:
		a.err = r.backend.Store(ctx, q.name, q.data)
	case opDelete:
		a.err = r.backend.Delete(ctx, q.name)
	case opWait, opDone:
	}
	return a
}

func (r *runner) pause(ctx context.Context, d time.Duration) error {
	c, stop := r.clock.after(d)
	defer stop()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// forget deletes, in the background, what may be there against our will or may
// yet arrive: a write whose answer was lost. It stops when the object was found
// and deleted, or when it would be stale by now. What is left goes stale.
func (r *runner) forget(names []string) {
	if len(names) == 0 {
		return
	}
	r.uses.begin()
	go func() {
		defer r.uses.end()
		start := r.clock.now()
		for pause := 100 * time.Millisecond; len(names) > 0 && r.clock.now().watched(start) < r.keep; pause = min(2*pause, r.keep/10) {
			if names = r.deleteAll(names); len(names) > 0 {
				_ = r.pause(context.Background(), pause)
			}
		}
	}()
}

// deleteAll returns what it did not find or could not delete.
func (r *runner) deleteAll(names []string) (left []string) {
	for _, name := range names {
		ctx, stop := context.WithTimeout(context.Background(), r.limit)
		if err := r.backend.Delete(ctx, name); err != nil {
			left = append(left, name)
		}
		stop()
	}
	return left
}
