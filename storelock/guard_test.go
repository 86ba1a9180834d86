package storelock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

func TestGuardLivesForHoursAndKeepsOthersOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		var stores atomic.Int64
		m.SetBefore(func(_ context.Context, c storelocktest.Call) error {
			if c.Op == "store" {
				stores.Add(1)
			}
			return nil
		})
		g := acquire(t, m, exclusive)
		time.Sleep(10*time.Hour + time.Minute)
		if n := stores.Load(); n != 61 {
			t.Errorf("%d objects in ten hours, want one and one each ten minutes", n)
		}
		if _, err := storelock.Acquire(t.Context(), m, storelock.Options{Timeout: 2 * time.Hour}); !errors.Is(err, storelock.ErrTimeout) {
			t.Errorf("beside it: %v", err)
		}
		if err := errors.Join(g.Err(), g.Context().Err(), g.Check(t.Context()), g.Close(), g.Close()); err != nil {
			t.Error(err)
		}
		wantEmpty(t, m)
	})
}

func TestStaleLockOfAnotherHostIsTakenOverAfterOneStaleTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		// Stamps of any age: they do not count.
		for _, stamp := range []string{"1999-01-01T00:00:00.000+00:00", "9999-12-31T23:59:59.999+00:00"} {
			m.Put("locks/00000000000000aa", []byte(`{"exclusive": true, "hostid": "else@1", "processid": 1, "threadid": 0, "time": "`+stamp+`"}`))
			if _, err := storelock.Acquire(t.Context(), m, storelock.Options{Timeout: 29 * time.Minute}); !errors.Is(err, storelock.ErrTimeout) {
				t.Fatalf("stamp %s: %v", stamp, err)
			}
			start := time.Now()
			var cleared []storelock.Info
			g := acquire(t, m, storelock.Options{Timeout: time.Hour, Cleared: func(i storelock.Info) { cleared = append(cleared, i) }})
			if took := time.Since(start); took < 30*time.Minute || took > 30*time.Minute+2*time.Second {
				t.Errorf("taken over after %v", took)
			}
			if len(cleared) != 1 || cleared[0].HostID != "else@1" {
				t.Errorf("cleared %v", cleared)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			wantEmpty(t, m)
		}
	})
}

func TestGarbageIsHeldWhileFreshAndClearedWhenStale(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{"empty": nil, "truncated": []byte(`{"exclusive": fal`), "100 MB": make([]byte, 100<<20)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &storelocktest.Memory{}
				m.Put("locks/Odd Name", data)
				_, err := storelock.Acquire(t.Context(), m, storelock.Options{})
				if !errors.Is(err, storelock.ErrTimeout) || !strings.Contains(err.Error(), `"locks/Odd Name"`) {
					t.Errorf("fresh: %v", err)
				}
				g := acquire(t, m, storelock.Options{Exclusive: true, Timeout: 31 * time.Minute})
				if err := g.Close(); err != nil {
					t.Error(err)
				}
				wantEmpty(t, m)
			})
		})
	}
}

func TestGarbageThatChangesStaysFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		done := make(chan struct{})
		go func() {
			for n := range byte(120) {
				m.Put("locks/x", []byte{n})
				time.Sleep(time.Minute)
			}
			close(done)
		}()
		if _, err := storelock.Acquire(t.Context(), m, storelock.Options{Timeout: 100 * time.Minute}); !errors.Is(err, storelock.ErrTimeout) {
			t.Error(err)
		}
		<-done
	})
}

func TestLossIsToldBeforeOthersMayTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		var broken atomic.Bool
		m.SetBefore(func(ctx context.Context, _ storelocktest.Call) error {
			if broken.Load() {
				<-ctx.Done() // hangs
				return ctx.Err()
			}
			return nil
		})
		g := acquire(t, m, exclusive)
		start := time.Now()
		broken.Store(true)
		<-g.Context().Done()
		if took := time.Since(start); took < 24*time.Minute || took > 28*time.Minute {
			t.Errorf("told after %v", took)
		}
		for _, err := range []error{context.Cause(g.Context()), g.Err(), g.Check(t.Context())} {
			if !errors.Is(err, storelock.ErrLost) || storelock.Code(err) != 73 {
				t.Errorf("%v", err)
			}
		}
		broken.Store(false)
		if err := g.Close(); !errors.Is(err, storelock.ErrLost) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		wantEmpty(t, m)
	})
}

func TestOneFailedRefreshCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		g := acquire(t, m, exclusive)
		for _, op := range []string{"load", "store", "delete"} {
			for _, after := range []bool{false, true} {
				var hits atomic.Int64
				hook := func(_ context.Context, c storelocktest.Call) error {
					if c.Op == op && hits.Add(1) == 1 {
						return errors.New("once")
					}
					return nil
				}
				m.SetBefore(nil)
				m.SetAfter(nil)
				if after {
					m.SetAfter(hook)
				} else {
					m.SetBefore(hook)
				}
				time.Sleep(15 * time.Minute)
				synctest.Wait()
				if hits.Load() == 0 || g.Check(t.Context()) != nil {
					t.Errorf("%s, after %v: %d hits, %v", op, after, hits.Load(), g.Err())
				}
			}
		}
		m.SetBefore(nil)
		m.SetAfter(nil)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		wantEmpty(t, m)
	})
}

func TestObjectRemovedByOthersIsALoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		g := acquire(t, m, exclusive)
		if _, err := storelock.Break(t.Context(), m, storelock.Options{}, storelock.BreakOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		<-g.Context().Done()
		if !errors.Is(context.Cause(g.Context()), storelock.ErrLost) {
			t.Error(context.Cause(g.Context()))
		}
		if err := g.Close(); !errors.Is(err, storelock.ErrLost) {
			t.Error(err)
		}
		wantEmpty(t, m)
		h := acquire(t, m, exclusive)
		storelock.Break(t.Context(), m, storelock.Options{}, storelock.BreakOptions{Force: true})
		if err := h.Close(); !errors.Is(err, storelock.ErrNotLocked) || storelock.Code(err) != 74 {
			t.Errorf("not there at Close: %v", err)
		}
	})
}

func TestBesideABorgEachCheckLooksForOurObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		m.Put("locks/00000000000000aa", []byte(`{"exclusive": false, "hostid": "else@1", "processid": 1, "threadid": 0, "time": "2026-03-08T12:00:00.000+00:00"}`))
		g := acquire(t, m, storelock.Options{})
		defer g.Close()
		if err := g.Check(t.Context()); err != nil {
			t.Error(err)
		}
		for name := range m.Objects() {
			m.Delete(t.Context(), name)
		}
		if err := g.Check(t.Context()); !errors.Is(err, storelock.ErrLost) {
			t.Errorf("right after: %v", err)
		}
	})
}

func TestMigrateHasNoMomentWithoutALock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		g := acquire(t, m, exclusive)
		m.SetAfter(func(context.Context, storelocktest.Call) error {
			if len(m.Objects()) == 0 {
				t.Error("nobody holds it")
			}
			return nil
		})
		if err := g.Migrate(t.Context(), storelock.Owner{HostID: "new", PID: 1}); err != nil {
			t.Fatal(err)
		}
		m.SetAfter(nil)
		infos, err := storelock.List(t.Context(), m, storelock.Options{})
		if err != nil || len(infos) != 1 || infos[0].HostID != "new+pbs-like" || infos[0].PID != 1 || infos[0].Instance != g.Instance() {
			t.Errorf("%v, %v", infos, err)
		}
		time.Sleep(time.Hour)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		wantEmpty(t, m)
		if err := g.Migrate(t.Context(), storelock.Owner{}); !errors.Is(err, storelock.ErrNotLocked) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestBreakRemovesOnlyWhatIsStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		g := acquire(t, m, storelock.Options{})
		m.Put("locks/00000000000000aa", []byte(`{"exclusive": false, "hostid": "else@1", "processid": 1, "threadid": 0, "time": "x"}`))
		m.Put("locks/garbage", []byte(`{`))
		removed, err := storelock.Break(t.Context(), m, storelock.Options{}, storelock.BreakOptions{})
		if err != nil || len(removed) != 0 {
			t.Errorf("at once: %v, %v", removed, err)
		}
		start := time.Now()
		removed, err = storelock.Break(t.Context(), m, storelock.Options{}, storelock.BreakOptions{Watch: true})
		if err != nil || len(removed) != 2 || time.Since(start) > 32*time.Minute {
			t.Errorf("after %v: %v, %v", time.Since(start), removed, err)
		}
		if err := errors.Join(g.Check(t.Context()), g.Close()); err != nil {
			t.Error(err)
		}
		wantEmpty(t, m)
	})
}
