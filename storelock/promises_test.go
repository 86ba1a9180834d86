package storelock_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

// liar is a store that breaks one promise.
type liar struct {
	storelocktest.Memory
	losesWrites  bool
	keepsDeleted bool
	otherBytes   bool
	forgetsLater bool          // what was stored is listed, and can't be loaded
	lag          time.Duration // until a listing shows what was stored
	stored       map[string]time.Time
}

func (l *liar) List(ctx context.Context, prefix string) (keys []string, err error) {
	all, err := l.Memory.List(ctx, prefix)
	for _, key := range all {
		if time.Since(l.stored[prefix+"/"+key]) >= l.lag {
			keys = append(keys, key)
		}
	}
	return keys, err
}

func (l *liar) Load(ctx context.Context, name string) ([]byte, error) {
	data, err := l.Memory.Load(ctx, name)
	switch {
	case l.otherBytes:
		return bytes.ToUpper(data), err
	case l.forgetsLater:
		return nil, storelock.ErrNotFound
	}
	return data, err
}

func (l *liar) Store(ctx context.Context, name string, data []byte) error {
	if l.losesWrites {
		return nil
	}
	if l.stored == nil {
		l.stored = map[string]time.Time{}
	}
	l.stored[name] = time.Now()
	return l.Memory.Store(ctx, name, data)
}

func (l *liar) Delete(ctx context.Context, name string) error {
	if l.keepsDeleted {
		return nil
	}
	return l.Memory.Delete(ctx, name)
}

func TestASelfTestRefusesAStoreThatLiesAndSaysHow(t *testing.T) {
	t.Parallel()
	for says, store := range map[string]*liar{
		"listings are more than 10s behind":            {losesWrites: true},
		"behind":                                       {lag: time.Minute},
		"listings are more than":                       {keepsDeleted: true},
		"has other bytes than were stored":             {otherBytes: true},
		"was stored and is not there":                  {forgetsLater: true},
		"was never stored is not \"not found\": <nil>": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			var b storelock.Backend = store
			if store == nil {
				b = always{&liar{}}
			}
			report, err := storelock.SelfTest(t.Context(), b, storelock.SelfTestOptions{})
			if !errors.Is(err, storelock.ErrStore) || !strings.Contains(err.Error(), says) || storelock.Code(err) != 70 {
				t.Errorf("%s: %v, %v", says, err, report)
			}
		})
	}
}

// always has every object.
type always struct{ *liar }

func (always) Load(context.Context, string) ([]byte, error) { return []byte("x"), nil }

func TestASlowStoreGetsARecheckDelayThatCoversIt(t *testing.T) {
	t.Parallel()
	for _, lag := range []time.Duration{0, 50 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			report, err := storelock.SelfTest(t.Context(), &liar{lag: lag}, storelock.SelfTestOptions{})
			if err != nil || report.RecheckDelay < 3*lag || report.RecheckDelay < 10*time.Millisecond || report.RecheckDelay > 5*lag+10*time.Millisecond {
				t.Errorf("%v: %v, %v", lag, report, err)
			}
		})
	}
}

// TestAStoreThatDoesNotKeepWhatItAcceptsIsNotTakenForALockedOne: nobody else is there to be named.
func TestAStoreThatDoesNotKeepWhatItAcceptsIsNotTakenForALockedOne(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := storelock.Acquire(t.Context(), &liar{losesWrites: true}, storelock.Options{Exclusive: true, Timeout: timeout})
			if !errors.Is(err, storelock.ErrStore) || !errors.Is(err, storelock.ErrFailed) || errors.Is(err, storelock.ErrTimeout) || time.Since(start) > 10*time.Second {
				t.Errorf("waiting %v: %v after %v", timeout, err, time.Since(start))
			}
		})
	}
}

// TestAnObjectThatCanNotBeReadIsNamedAndGoesStale: it is not known to be no lock.
func TestAnObjectThatCanNotBeReadIsNamedAndGoesStale(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(context.Context) error{
		"permission denied": func(context.Context) error { return unix.EACCES },
		"i/o error":         func(context.Context) error { return unix.EIO },
		"a call that hangs": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &storelocktest.Memory{}
			m.Put("locks/0123456789abcdef", []byte(`{"exclusive": false, "hostid": "h"}`))
			m.SetBefore(func(ctx context.Context, c storelocktest.Call) error {
				if c.Op == "load" && c.Name == "locks/0123456789abcdef" {
					return fault(ctx)
				}
				return nil
			})
			_, err := storelock.Acquire(t.Context(), m, storelock.Options{})
			locked, ok := errors.AsType[*storelock.LockedError](err)
			if !ok || len(locked.Holders) != 1 || locked.Holders[0].Err == nil || !strings.Contains(err.Error(), `"locks/0123456789abcdef"`) {
				t.Errorf("%s: %v", name, err)
			}
			g, err := storelock.Acquire(t.Context(), m, storelock.Options{Timeout: 3 * time.Hour})
			if err != nil {
				t.Fatalf("%s, for hours: %v", name, err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			wantEmpty(t, m)
		})
	}
}
