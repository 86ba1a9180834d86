package storelock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

const foreignLock = `{"exclusive": %v, "hostid": "else@1", "processid": 4711, "threadid": 0, "time": "2026-03-08T12:00:00.000+00:00"}`

// TestALateDeletionOfAStaleLockDoesNotHitTheOneThatCameAfterIt: two see the same stale lock, one deletes
// it and has the lock, and then the other one's deletion arrives. Who is the first of them is left to chance.
func TestALateDeletionOfAStaleLockDoesNotHitTheOneThatCameAfterIt(t *testing.T) {
	t.Parallel()
	landed := false
	for range 50 {
		synctest.Test(t, func(t *testing.T) { landed = lateDeletion(t) || landed })
		if landed {
			return
		}
	}
	t.Error("no deletion came late")
}

// lateDeletion tells whether the deletion of one came while the other had the lock.
func lateDeletion(t *testing.T) (landed bool) {
	t.Helper()
	const stale = "locks/00000000000000aa"
	m := &storelocktest.Memory{}
	m.Put(stale, fmt.Appendf(nil, foreignLock, true))
	type late struct{}
	var holding atomic.Bool
	m.SetBefore(func(ctx context.Context, c storelocktest.Call) error {
		if c.Op == "delete" && c.Name == stale && ctx.Value(late{}) != nil {
			time.Sleep(20 * time.Second)
			landed = landed || holding.Load()
		}
		return nil
	})
	hold := func(ctx context.Context) {
		g, err := storelock.Acquire(ctx, m, storelock.Options{Exclusive: true, Timeout: 35 * time.Minute})
		if errors.Is(err, storelock.ErrTimeout) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		if holding.Swap(true) {
			t.Error("two have the lock")
		}
		time.Sleep(time.Hour)
		holding.Store(false)
		if err := errors.Join(g.Check(ctx), g.Close()); err != nil {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	all.Go(func() { hold(context.WithValue(t.Context(), late{}, true)) })
	all.Go(func() { hold(t.Context()) })
	all.Wait()
	wantEmpty(t, m)
	return landed
}

// TestAWriteThatLandsLateLetsNobodyInBesideIt: another one has the lock, and gives it back, in between.
func TestAWriteThatLandsLateLetsNobodyInBesideIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		type slow struct{}
		m.SetBefore(func(ctx context.Context, c storelocktest.Call) error {
			if c.Op == "store" && strings.HasPrefix(c.Name, "locks/") && ctx.Value(slow{}) != nil {
				time.Sleep(5 * time.Second)
			}
			return nil
		})
		var all sync.WaitGroup
		var inside sync.Mutex
		turn := func(ctx context.Context, d time.Duration) {
			g, err := storelock.Acquire(ctx, m, storelock.Options{Exclusive: true, Timeout: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			if !inside.TryLock() {
				t.Error("two at a time")
				return
			}
			time.Sleep(d)
			inside.Unlock()
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
		all.Go(func() { turn(context.WithValue(t.Context(), slow{}, true), time.Second) })
		for _, d := range []time.Duration{time.Second, 4900 * time.Millisecond, 10 * time.Second} {
			time.Sleep(100 * time.Millisecond)
			all.Go(func() { turn(t.Context(), d) })
		}
		all.Wait()
		wantEmpty(t, m)
	})
}

func TestTwoOfOneMomentAreTwo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		one, two := acquire(t, m, storelock.Options{}), acquire(t, m, storelock.Options{})
		if n := len(m.Objects()); n != 2 || one.Instance() == two.Instance() {
			t.Errorf("%d objects of %q and %q", n, one.Instance(), two.Instance())
		}
		if err := errors.Join(one.Close(), two.Check(t.Context()), two.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestARefusalSaysWhoSinceWhenAndForHowLongYet has one lock of another host, of either mode.
func TestARefusalSaysWhoSinceWhenAndForHowLongYet(t *testing.T) {
	t.Parallel()
	for _, exclusive := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := &storelocktest.Memory{}
			opts := storelock.Options{Exclusive: exclusive, HostID: "far", User: "joe", Command: "gc", Message: "nightly"}
			g := acquire(t, m, opts)
			began := time.Now()
			time.Sleep(25 * time.Minute)
			_, err := storelock.Acquire(t.Context(), m, storelock.Options{Exclusive: true, Timeout: time.Minute})
			for _, part := range []string{
				`by "far+pbs-like" pid `, `("gc", user "joe")`, `for "nightly"`, "since " + began.UTC().Format(time.RFC3339),
				"refreshed at " + began.Add(20*time.Minute).UTC().Format(time.RFC3339), "unchanged for 1m0s, stale after 29m0s more",
			} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}

			// What is left of a Borg goes by itself, and that is told once.
			m.Put("locks/00000000000000aa", fmt.Appendf(nil, foreignLock, exclusive))
			told := 0
			g = acquire(t, m, storelock.Options{Exclusive: true, Timeout: time.Hour, Cleared: func(storelock.Info) { told++ }})
			if err := g.Close(); err != nil || told != 1 {
				t.Errorf("told %d times, %v", told, err)
			}
			wantEmpty(t, m)
		})
	}
}

func TestALockThatIsGoneCanNotBeGivenToAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		g := acquire(t, m, exclusive)
		for name := range m.Objects() {
			_ = m.Delete(t.Context(), name)
		}
		if err := g.Migrate(t.Context(), storelock.Owner{PID: 1}); !errors.Is(err, storelock.ErrLost) || len(m.Objects()) > 0 {
			t.Errorf("%v, left %v", err, m.Objects())
		}
		if err := g.Close(); !errors.Is(err, storelock.ErrLost) {
			t.Error(err)
		}
	})
}

// TestEightWhoComeAtOnceAreAllServedAThousandTimes: without tickets nothing but chance orders them.
func TestEightWhoComeAtOnceAreAllServedAThousandTimes(t *testing.T) {
	t.Parallel()
	rounds := 125
	if testing.Short() {
		rounds = 10
	}
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		m.SetBefore(func(_ context.Context, c storelocktest.Call) error {
			if strings.HasPrefix(c.Name, "queue") {
				return storelock.ErrNotStored
			}
			return nil
		})
		start := time.Now()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range rounds {
					g, err := storelock.Acquire(t.Context(), m, storelock.Options{Exclusive: true, Timeout: time.Hour})
					if err != nil {
						t.Error(err)
						return
					}
					if err := g.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if each := time.Since(start) / time.Duration(8*rounds); each > time.Second {
			t.Errorf("%v each", each)
		} else {
			t.Logf("%v each", each)
		}
		time.Sleep(time.Hour)
	})
}
