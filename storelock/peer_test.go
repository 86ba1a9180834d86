package storelock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

// cached is another host's view of a store: its listings are kept for a while.
type cached struct {
	*storelocktest.Memory
	keeps time.Duration
	mu    sync.Mutex
	keys  map[string][]string
	until map[string]time.Time
}

func (c *cached) List(ctx context.Context, prefix string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until[prefix]) {
		return c.keys[prefix], nil
	}
	keys, err := c.Memory.List(ctx, prefix)
	c.keys[prefix], c.until[prefix] = keys, time.Now().Add(c.keeps)
	return keys, err
}

func testBoth(t *testing.T, m *storelocktest.Memory, keeps time.Duration) (reports [2]storelock.Report, errs [2]error) {
	t.Helper()
	o := storelock.SelfTestOptions{Peer: "word", Rounds: 3, PeerWait: time.Minute}
	var both sync.WaitGroup
	for i := range 2 {
		c := &cached{Memory: m, keys: map[string][]string{}, until: map[string]time.Time{}}
		if i == 1 {
			c.keeps = keeps
		}
		both.Go(func() {
			time.Sleep(time.Duration(i) * 10 * time.Second) // nobody types as fast as that
			reports[i], errs[i] = storelock.SelfTest(t.Context(), c, o)
		})
	}
	both.Wait()
	return reports, errs
}

func TestTwoHostsFindOutWhatEachSeesOfTheOther(t *testing.T) {
	t.Parallel()
	for _, keeps := range []time.Duration{0, 300 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			m := &storelocktest.Memory{}
			m.SetAfter(func(context.Context, storelocktest.Call) error {
				time.Sleep(time.Millisecond)
				return nil
			})
			reports, errs := testBoth(t, m, keeps)
			worst := time.Duration(0)
			for i, r := range reports {
				worst = max(worst, r.PeerStoreVisible, r.PeerDeleteVisible)
				if errs[i] != nil || r.PeerStoreVisible == 0 || r.RecheckDelay < r.PeerStoreVisible || r.PeerStoreVisible > 2*keeps+100*time.Millisecond {
					t.Errorf("%v: %v, %v", keeps, r, errs[i])
				}
			}
			if worst < keeps/2 {
				t.Errorf("listings are kept for %v, and %v was seen", keeps, worst)
			}
			m.SetAfter(nil)
			wantEmpty(t, m)
		})
	}
}

func TestAHostThatSeesTheOtherOneTooLateIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		_, errs := testBoth(t, m, 30*time.Second)
		if !errors.Is(errs[0], storelock.ErrStore) && !errors.Is(errs[1], storelock.ErrStore) {
			t.Errorf("%v, %v", errs[0], errs[1])
		}
		wantEmpty(t, m)
	})
}

func TestAPeerThatDoesNotComeIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &storelocktest.Memory{}
		start := time.Now()
		_, err := storelock.SelfTest(t.Context(), m, storelock.SelfTestOptions{Peer: "alone"})
		if took := time.Since(start); err == nil || took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("%v after %v", err, took)
		}
		wantEmpty(t, m)
		if _, err := storelock.SelfTest(t.Context(), m, storelock.SelfTestOptions{Peer: "two words"}); !errors.Is(err, storelock.ErrOptions) {
			t.Error(err)
		}
	})
}
