package flock

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// Take is [Wait.Do] for a file system that may not answer: a flock on a FUSE or
// network mount can hang in the kernel, where no deadline reaches it. Each try
// runs in a goroutine of its own. When the time is over or ctx is done while one
// is under way, Take returns, with os.ErrDeadlineExceeded or the context's
// error, and leaves that try alone. If the kernel answers after all, and the try
// gets what it wanted, that is closed at once: nothing stays locked.
//
// So try must hand over what it took only as its result, and must not write to
// variables that the caller reads afterwards. A try gets a second at least, also
// one that begins when the time is over; without a Timeout, only ctx ends it.
func Take[T io.Closer](ctx context.Context, w Wait, try func() (T, error)) (T, error) {
	var taken T
	start := time.Now()
	err := w.loop(ctx, func() (bool, error) {
		attempt := begin(try)
		expired, stop := w.expiry(time.Since(start))
		defer stop()
		select {
		case got := <-attempt.result:
			taken = got.value
			return true, got.err
		case <-ctx.Done():
			attempt.abandon()
			return false, noAnswer(ctx.Err())
		case <-expired:
			attempt.abandon()
			return false, noAnswer(os.ErrDeadlineExceeded)
		}
	})
	if err != nil {
		var none T
		return none, err
	}
	return taken, nil
}

func noAnswer(err error) error {
	return fmt.Errorf("no answer from the file system to a lock call: %w", err)
}

// lastAttempt is what an attempt gets that begins when the time is over, or nearly:
// a deadline is for holders that don't let go, and a busy disk takes a moment, too.
const lastAttempt = time.Second

// expiry returns a channel that delivers when an attempt has to end that begins
// after elapsed; it never does without a Timeout.
func (w Wait) expiry(elapsed time.Duration) (<-chan time.Time, func()) {
	if w.Timeout <= 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(max(w.Timeout-elapsed, lastAttempt))
	return timer.C, func() { timer.Stop() }
}

// attempt is a try that runs by itself.
type attempt[T io.Closer] struct{ result chan outcome[T] }

type outcome[T io.Closer] struct {
	value T
	err   error
}

func begin[T io.Closer](try func() (T, error)) attempt[T] {
	a := attempt[T]{make(chan outcome[T], 1)}
	go func() {
		value, err := try()
		a.result <- outcome[T]{value, err}
	}()
	return a
}

// abandon closes what the attempt may still take.
func (a attempt[T]) abandon() {
	go func() {
		if late := <-a.result; late.err == nil {
			// Nobody is left to tell. The file is closed whatever close says.
			_ = late.value.Close()
		}
	}()
}
