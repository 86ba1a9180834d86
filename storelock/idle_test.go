package storelock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

// watched is a store that may not be used once it is said to be idle.
type watched struct {
	storelocktest.Memory
	idle atomic.Int64
}

func newWatched(t *testing.T, fault func(storelocktest.Call) error) *watched {
	t.Helper()
	w := &watched{}
	w.SetBefore(func(_ context.Context, c storelocktest.Call) error {
		if w.idle.Load() > 0 {
			t.Errorf("%v after it was said to be idle", c)
		}
		return fault(c)
	})
	return w
}

// TestAStoreIsIdleWhenNothingIsLeftToDelete lets each call of acquire and release fail in turn.
func TestAStoreIsIdleWhenNothingIsLeftToDelete(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"list", "load", "store", "delete"} {
		for n := int64(1); ; n++ {
			var hits atomic.Int64
			synctest.Test(t, func(t *testing.T) {
				w := newWatched(t, func(c storelocktest.Call) error {
					if c.Op == op && hits.Add(1) >= n && hits.Load() < n+4 { // more than are survived
						return io.ErrUnexpectedEOF
					}
					return nil
				})
				g, err := storelock.Acquire(t.Context(), w, storelock.Options{Exclusive: true, Idle: func() { w.idle.Add(1) }})
				if err == nil {
					if w.idle.Load() != 0 {
						t.Error("idle while it is held")
					}
					err = g.Close()
				}
				if err == nil && w.idle.Load() != 1 {
					t.Errorf("%s %d: not idle at once after a success", op, n)
				}
				time.Sleep(35 * time.Minute)
				synctest.Wait()
				if w.idle.Load() != 1 || len(w.Objects()) > 0 {
					t.Errorf("%s %d: idle %d times, left %v", op, n, w.idle.Load(), w.Objects())
				}
			})
			if hits.Load() < n {
				break
			}
		}
	}
}

func TestAStoreIsIdleAfterEachEndOfAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		m := &storelocktest.Memory{}
		held := acquire(t, m, exclusive)
		for name, try := range map[string]func(storelock.Options) error{
			"locked": func(o storelock.Options) error {
				_, err := storelock.Acquire(t.Context(), m, o)
				return err
			},
			"cancelled": func(o storelock.Options) error {
				_, err := storelock.Acquire(over, m, o)
				return err
			},
			"options": func(o storelock.Options) error {
				o.Stale = -1
				_, err := storelock.Acquire(t.Context(), m, o)
				return err
			},
			"nothing to adopt": func(o storelock.Options) error {
				_, err := storelock.Adopt(t.Context(), m, "none", o)
				return err
			},
		} {
			idle := 0
			if err := try(storelock.Options{Idle: func() { idle++ }}); err == nil || idle != 1 {
				t.Errorf("%s: %v, idle %d times", name, err, idle)
			}
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
		idle := 0
		g := acquire(t, m, storelock.Options{Idle: func() { idle++ }})
		if _, err := g.HandOver(t.Context(), storelock.Owner{PID: 1}); err != nil {
			t.Error(err)
		}
		if err := errors.Join(g.Close(), g.Close()); err != nil || idle != 1 {
			t.Errorf("handed over: %v, idle %d times", err, idle)
		}
	})
}

func TestAFaultOfAMomentDoesNotSpoilTheRelease(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := &storelocktest.Memory{}
			g := acquire(t, m, exclusive)
			failed := 0
			hook := func(context.Context, storelocktest.Call) error {
				if failed++; failed < 3 {
					return io.ErrUnexpectedEOF
				}
				return nil
			}
			if after {
				m.SetAfter(hook)
			} else {
				m.SetBefore(hook)
			}
			if err := g.Close(); err != nil {
				t.Errorf("after %v: %v", after, err)
			}
			wantEmpty(t, m)
		})
	}
}

// TestTheEndOfAGuardTellsWhatItIs: who waited with a deadline does not lose the lock then, and
// the three ends are three errors.
func TestTheEndOfAGuardTellsWhatItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		type key struct{}
		wait, stop := context.WithTimeout(context.WithValue(t.Context(), key{}, "kept"), time.Second)
		defer stop()
		g, err := storelock.Acquire(wait, m, exclusive)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Hour)
		if err := errors.Join(g.Context().Err(), g.Err(), g.Check(t.Context())); err != nil || g.Context().Value(key{}) != "kept" {
			t.Errorf("the end of the wait ended the lock: %v", err)
		}
		if err := g.Check(wait); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, storelock.ErrLost) || g.Err() != nil {
			t.Errorf("a check that is called off: %v, %v", err, g.Err())
		}
		work, cancel := context.WithCancel(t.Context())
		bound, free := g.Bind(work)
		defer free()
		cancel()
		<-bound.Done()
		if err := context.Cause(bound); !errors.Is(err, context.Canceled) || g.Err() != nil {
			t.Errorf("work that was called off: %v, %v", err, g.Err())
		}
		bound, free = g.Bind(t.Context())
		defer free()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		<-bound.Done()
		closed := []error{g.Err(), context.Cause(g.Context()), context.Cause(bound), g.Check(t.Context()), g.Refresh(t.Context())}
		wantAll(t, "closed", closed, storelock.ErrNotLocked, storelock.ErrLost, 74)

		g = acquire(t, m, exclusive)
		bound, free = g.Bind(t.Context())
		defer free()
		if _, err := storelock.Break(t.Context(), m, storelock.Options{}, storelock.BreakOptions{Force: true}); err != nil {
			t.Error(err)
		}
		<-bound.Done()
		lost := []error{g.Err(), context.Cause(g.Context()), context.Cause(bound), g.Check(t.Context()), g.Close(), g.Close(), g.Err()}
		wantAll(t, "lost", lost, storelock.ErrLost, storelock.ErrNotLocked, 73)

		g = acquire(t, m, exclusive)
		if _, err := storelock.Break(t.Context(), m, storelock.Options{}, storelock.BreakOptions{Force: true}); err != nil {
			t.Error(err)
		}
		wantAll(t, "gone when it was closed", []error{g.Close(), g.Close()}, storelock.ErrNotLocked, storelock.ErrLost, 74)
	})
}

func wantAll(t *testing.T, what string, errs []error, want, other error, code int) {
	t.Helper()
	for i, err := range errs {
		if !errors.Is(err, want) || errors.Is(err, other) || storelock.Code(fmt.Errorf("x: %w", err)) != code {
			t.Errorf("%s, %d: %v", what, i, err)
		}
	}
}
