package storelock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

func acquire(t *testing.T, b storelock.Backend, o storelock.Options) *storelock.Guard {
	t.Helper()
	g, err := storelock.Acquire(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func wantEmpty(t *testing.T, m *storelocktest.Memory) {
	t.Helper()
	for name, data := range m.Objects() {
		t.Errorf("%q is left: %s", name, data)
	}
}

var exclusive = storelock.Options{Exclusive: true}

func TestGivingUpLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		a := acquire(t, m, storelock.Options{})
		before := m.Objects()
		start := time.Now()
		_, err := storelock.Acquire(t.Context(), m, storelock.Options{Exclusive: true, Timeout: time.Second})
		if !errors.Is(err, storelock.ErrTimeout) || storelock.Code(err) != 73 {
			t.Errorf("%v, code %d", err, storelock.Code(err))
		}
		if took := time.Since(start); took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if got := m.Objects(); len(got) != 1 || len(before) != 1 {
			t.Errorf("left %v", got)
		}
		c := acquire(t, m, storelock.Options{}) // at once
		if err := errors.Join(a.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		wantEmpty(t, m)
	})
}

// TestEachFailingStepOfAcquireLeavesNothingBehind enumerates the calls: each of them
// fails once, before or after its effect, or is the last one before the context ends.
func TestEachFailingStepOfAcquireLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"refused", "answer lost", "cancelled before", "cancelled after"} {
		for _, busy := range []bool{false, true} {
			for n := int64(1); ; n++ {
				if !failAt(t, way, busy, n) {
					break
				}
			}
		}
	}
}

func failAt(t *testing.T, way string, busy bool, n int64) (happened bool) {
	t.Helper()
	t.Run(fmt.Sprintf("%s at %d, busy %v", way, n, busy), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &storelocktest.Memory{}
			want := 0
			if busy {
				defer acquire(t, m, storelock.Options{}).Close()
				want = 1
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var calls atomic.Int64
			var over atomic.Bool
			broken := errors.New("broken")
			hit := func(before bool) error {
				if before {
					calls.Add(1)
				}
				if calls.Load() != n || over.Load() {
					return nil
				}
				happened = true
				switch {
				case way == "refused" && before, way == "answer lost" && !before:
					return broken
				case way == "cancelled before" && before, way == "cancelled after" && !before:
					cancel()
				}
				return nil
			}
			m.SetBefore(func(context.Context, storelocktest.Call) error { return hit(true) })
			m.SetAfter(func(context.Context, storelocktest.Call) error { return hit(false) })
			g, err := storelock.Acquire(ctx, m, storelock.Options{Exclusive: true, Timeout: 40 * time.Millisecond})
			over.Store(true)
			if err == nil {
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
			time.Sleep(65 * time.Minute) // when the other holder is not just renewing its lock
			if got := m.Objects(); len(got) != want {
				t.Errorf("acquire said %v and left %v", err, got)
			}
		})
	})
	return happened
}

func TestOneAttemptIsMadeWithoutATimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		g := acquire(t, m, exclusive)
		_, err := storelock.Acquire(t.Context(), m, storelock.Options{})
		locked, ok := errors.AsType[*storelock.LockedError](err)
		if !ok || len(locked.Holders) != 1 || !locked.Holders[0].Exclusive || !strings.Contains(err.Error(), "pid") {
			t.Errorf("%v", err)
		}
		g.Close()
		acquire(t, m, storelock.Options{}).Close()
		wantEmpty(t, m)
	})
}

func TestAListThatFailsIsNoEmptyList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		g := acquire(t, m, exclusive)
		defer g.Close()
		for fails, want := range map[int]error{2: storelock.ErrTimeout, 3: storelock.ErrFailed} {
			left := fails
			m.SetBefore(func(_ context.Context, c storelocktest.Call) error {
				if left--; left >= 0 && c.Op == "list" {
					return io.ErrUnexpectedEOF
				}
				return nil
			})
			if _, err := storelock.Acquire(t.Context(), m, storelock.Options{}); !errors.Is(err, want) {
				t.Errorf("after %d failures: %v", fails, err)
			}
		}
	})
}

func TestEachErrorHasTheOriginalsNumber(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		storelock.ErrOptions: 70, storelock.ErrStore: 70, storelock.ErrFailed: 72, storelock.ErrTimeout: 73, storelock.ErrLost: 73,
		storelock.ErrNotLocked: 74, storelock.ErrNotMine: 75, &storelock.LockedError{}: 73, io.EOF: 0,
	} {
		if got := storelock.Code(fmt.Errorf("x: %w", err)); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

func TestOptionsThatCanNotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []storelock.Options{
		{Stale: -1}, {RecheckDelay: -1}, {Stale: 48 * time.Hour}, {Stale: time.Minute, RecheckDelay: 3 * time.Second}, {Stale: time.Millisecond},
	} {
		if _, err := storelock.Acquire(t.Context(), &storelocktest.Memory{}, o); !errors.Is(err, storelock.ErrOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
