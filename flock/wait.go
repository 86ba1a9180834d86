package flock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// shortRetry covers the instant in which somebody tidies an empty directory
	// away, or a started child has not yet closed what it inherited.
	shortRetry = 100 * time.Millisecond

	firstPause = 10 * time.Millisecond
	maxPause   = 250 * time.Millisecond

	// An attempt that takes long, because there is much to lock or because the
	// holders are hard to find, is repeated less often: at most a tenth of the
	// time is spent on asking.
	pausePerCost = 10
	maxCostPause = 2 * time.Second
)

// Wait says how long to go on trying. The zero value makes one attempt and, if
// that finds the lock held, one more 100 ms later.
type Wait struct {
	// Timeout is how long to wait for a lock that is held. The last attempt is
	// made when it is over. Zero or less: the zero value's one short retry.
	Timeout time.Duration

	// Busy, if not nil, is called once, with the first *LockedError, when
	// waiting begins. It is not called for the short retry.
	Busy func(error)
}

// Do calls try until it returns something else than [ErrLocked], the time is
// over, or ctx is done. Between the calls nothing is held: a try that takes
// several locks has to release them all before it returns an error, so that no
// two of them can wait for each other.
//
// It returns what try returned last; when ctx ended the waiting, the error is
// both that and the context's. A try that itself takes long, on a file system
// that does not answer, is not interrupted: see [Take].
func (w Wait) Do(ctx context.Context, try func() error) error {
	return w.loop(ctx, func() (bool, error) { return true, try() })
}

// loop is Do for a try that may not come back: returned is false then.
func (w Wait) loop(ctx context.Context, try func() (returned bool, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	start := time.Now()
	for n := 0; ; n++ {
		began := time.Now()
		returned, err := try()
		if !returned || !errors.Is(err, ErrLocked) {
			return err
		}
		pause := w.pause(n, time.Since(start), time.Since(began))
		if pause <= 0 {
			return err
		}
		if n == 0 && w.Timeout > 0 && w.Busy != nil {
			w.Busy(err)
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("%w (gave up waiting: %w)", err, ctx.Err())
		}
	}
}

// pause returns how long to wait after attempt n, or 0 to give up.
func (w Wait) pause(n int, elapsed, cost time.Duration) time.Duration {
	if w.Timeout <= 0 {
		if n == 0 {
			return shortRetry
		}
		return 0
	}
	left := w.Timeout - elapsed
	want := min(firstPause<<min(n, 10), maxPause)
	return min(max(want, min(cost*pausePerCost, maxCostPause)), left)
}

// sleep tells whether the time went by before ctx was done.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
