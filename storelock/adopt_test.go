package storelock_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

func TestALockThatWasHandedOverIsAdoptedUnderTheSameInstance(t *testing.T) {
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
		key, err := g.HandOver(t.Context(), storelock.Owner{PID: os.Getpid()})
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"Check": g.Check(t.Context()), "Err": g.Err(), "Refresh": g.Refresh(t.Context()), "context": context.Cause(g.Context())} {
			if !errors.Is(err, storelock.ErrNotMine) || storelock.Code(err) != 75 {
				t.Errorf("%s of the guard before: %v", what, err)
			}
		}
		if err := errors.Join(g.Close(), g.Close()); err != nil {
			t.Errorf("the guard before: %v", err)
		}
		time.Sleep(20 * time.Minute) // the other process takes its time
		h, err := storelock.Adopt(t.Context(), m, key, storelock.Options{})
		if err != nil || h.Instance() != g.Instance() || !h.Exclusive() {
			t.Fatalf("%v, %v", h, err)
		}
		time.Sleep(10 * time.Hour)
		if err := h.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := storelock.Adopt(t.Context(), m, key, storelock.Options{}); !errors.Is(err, storelock.ErrNotLocked) {
			t.Errorf("the key of long ago: %v", err)
		}
		m.SetAfter(nil)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		wantEmpty(t, m)
	})
}

func TestOnlyWhatBelongsToThisProcessIsAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		m.Put("locks/00000000000000aa", []byte(`{"exclusive": true, "hostid": "else@1", "processid": 1, "threadid": 0, "time": "x"}`))
		m.Put("locks/garbage", []byte(`{`))
		g := acquire(t, &storelocktest.Memory{}, exclusive)
		defer g.Close()
		for key, want := range map[string]error{
			"00000000000000aa": storelock.ErrNotMine, "garbage": storelock.ErrNotMine, "none": storelock.ErrNotLocked, "": storelock.ErrOptions, "../x": storelock.ErrOptions,
		} {
			if _, err := storelock.Adopt(t.Context(), m, key, storelock.Options{}); !errors.Is(err, want) {
				t.Errorf("%q: %v", key, err)
			}
		}
		o := &storelocktest.Memory{}
		h := acquire(t, o, exclusive)
		key, err := h.HandOver(t.Context(), storelock.Owner{PID: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := storelock.Adopt(t.Context(), o, key, storelock.Options{}); !errors.Is(err, storelock.ErrNotMine) {
			t.Errorf("of process 1: %v", err)
		}
		if len(m.Objects()) != 2 || len(o.Objects()) != 1 {
			t.Errorf("changed: %v, %v", m.Objects(), o.Objects())
		}
	})
}

// TestEachFailingStepOfAHandOverLeavesOneOwner enumerates the calls of both sides.
func TestEachFailingStepOfAHandOverLeavesOneOwner(t *testing.T) {
	t.Parallel()
	for n := int64(1); ; n++ {
		var calls atomic.Int64
		synctest.Test(t, func(t *testing.T) {
			m := &storelocktest.Memory{}
			g := acquire(t, m, exclusive)
			m.SetBefore(func(context.Context, storelocktest.Call) error {
				if calls.Add(1) == n {
					return errors.New("broken")
				}
				return nil
			})
			key, err := g.HandOver(t.Context(), storelock.Owner{PID: os.Getpid()})
			if err != nil {
				if err := errors.Join(g.Check(t.Context()), g.Close()); err != nil {
					t.Errorf("failing at %d: %v", n, err)
				}
			} else if h, err := storelock.Adopt(t.Context(), m, key, storelock.Options{}); err == nil {
				if err := h.Close(); err != nil && calls.Load() != n {
					t.Errorf("failing at %d: %v", n, err)
				}
			} else if h, err = storelock.Adopt(t.Context(), m, key, storelock.Options{}); err != nil {
				t.Errorf("failing at %d, second time: %v", n, err)
			} else if err := h.Close(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour)
			wantEmpty(t, m)
		})
		if calls.Load() < n {
			return
		}
	}
}
