package flock

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var errBusy = &LockedError{Path: "vm/100"}

// attempts returns a try that is busy until free, and the moments of its calls.
func attempts(free time.Duration) (func() error, *[]time.Duration) {
	start, calls := time.Now(), new([]time.Duration)
	return func() error {
		*calls = append(*calls, time.Since(start))
		if time.Since(start) < free {
			return errBusy
		}
		return nil
	}, calls
}

const never = time.Duration(1 << 62)

func TestZeroWaitIsOneAttemptAndOneShortRetry(t *testing.T) {
	for _, c := range []struct {
		free  time.Duration
		calls []time.Duration
		want  error
	}{
		{0, []time.Duration{0}, nil},
		{50 * time.Millisecond, []time.Duration{0, shortRetry}, nil},
		{never, []time.Duration{0, shortRetry}, ErrLocked},
	} {
		synctest.Test(t, func(t *testing.T) {
			try, calls := attempts(c.free)
			w := Wait{Busy: func(error) { t.Error("Busy was called for the short retry") }}
			if err := w.Do(t.Context(), try); !errors.Is(err, c.want) {
				t.Errorf("Do = %v, want %v", err, c.want)
			}
			if !slices.Equal(*calls, c.calls) {
				t.Errorf("attempts at %v, want %v", *calls, c.calls)
			}
		})
	}
}

func TestLastAttemptIsWhenTheTimeIsOver(t *testing.T) {
	for _, timeout := range []time.Duration{time.Millisecond, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			try, calls := attempts(never)
			reports := 0
			w := Wait{Timeout: timeout, Busy: func(err error) {
				reports++
				if len(*calls) != 1 || !errors.Is(err, errBusy) {
					t.Errorf("Busy after %d attempts with %v", len(*calls), err)
				}
			}}
			if err := w.Do(t.Context(), try); !errors.Is(err, errBusy) {
				t.Errorf("Do = %v, want %v", err, errBusy)
			}
			if last := (*calls)[len(*calls)-1]; last != timeout || reports != 1 {
				t.Errorf("last attempt after %v, want %v; %d reports", last, timeout, reports)
			}
		})
	}
}

func TestWaitEndsSoonAfterTheLockIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		try, calls := attempts(time.Minute)
		if err := (Wait{Timeout: time.Hour}).Do(t.Context(), try); err != nil {
			t.Fatal(err)
		}
		if late := time.Since(time.Now()) + (*calls)[len(*calls)-1] - time.Minute; late > maxPause {
			t.Errorf("%v late", late)
		}
	})
}

func TestCancelledWaitSaysBoth(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			try, _ := attempts(never)
			start := time.Now()
			err := Wait{Timeout: timeout}.Do(ctx, try)
			if !errors.Is(err, ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Do = %v", err)
			}
			if time.Since(start) != 30*time.Millisecond {
				t.Errorf("Do returned after %v", time.Since(start))
			}
		})
	}
}

func TestOnlyBusyIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, want := range []error{ErrChanged, ErrUnsupported, io.ErrUnexpectedEOF, nil} {
		calls := 0
		err := Wait{Timeout: time.Hour}.Do(t.Context(), func() error { calls++; return want })
		if err != want || calls != 1 {
			t.Errorf("Do = %v after %d attempts, want %v after one", err, calls, want)
		}
	}
}

func TestNoAttemptForWhoHasGivenUpAlready(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Wait{}.Do(ctx, func() error { t.Error("tried"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v", err)
	}
}

func TestCostlyAttemptsAreFewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := time.Duration(0)
		err := Wait{Timeout: time.Minute}.Do(t.Context(), func() error {
			const cost = 100 * time.Millisecond
			time.Sleep(cost)
			busy += cost
			return errBusy
		})
		if !errors.Is(err, ErrLocked) || busy > 7*time.Second {
			t.Errorf("%v of a minute was spent on asking (%v)", busy, err)
		}
	})
}

// closer is a guard that tells when it is closed.
type closer chan struct{}

func (c closer) Close() error { close(c); return nil }

func TestTakeLeavesACallThatHangs(t *testing.T) {
	for _, c := range []struct {
		wait   Wait
		cancel time.Duration
		want   error
	}{
		{Wait{Timeout: 5 * time.Second}, time.Hour, os.ErrDeadlineExceeded},
		{Wait{Timeout: 5 * time.Second}, 2 * time.Second, context.DeadlineExceeded},
		{Wait{}, 2 * time.Second, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.cancel)
			defer cancel()
			answer, guard := make(chan struct{}), make(closer)
			start := time.Now()
			got, err := Take(ctx, c.wait, func() (closer, error) {
				<-answer
				return guard, nil
			})
			if got != nil || !errors.Is(err, c.want) || errors.Is(err, ErrLocked) {
				t.Errorf("Take = %v, %v, want %v", got, err, c.want)
			}
			if d := time.Since(start); d != min(5*time.Second, c.cancel) {
				t.Errorf("Take returned after %v", d)
			}
			close(answer)
			<-guard // closed, since nobody waits for it any more
		})
	}
}

func TestTakeHandsOverWhatWasTaken(t *testing.T) {
	t.Parallel()
	ref := Ref{Name: newDir(t)}
	g, err := Take(t.Context(), Wait{}, func() (*ExclusiveGuard, error) { return TryExclusive(ref) })
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	none, err := Take(t.Context(), Wait{}, func() (*SharedGuard, error) { return TryShared(ref) })
	if none != nil || !errors.Is(err, ErrLocked) {
		t.Errorf("Take = %v, %v, want busy", none, err)
	}
}

func TestTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free, _ := attempts(3 * time.Second)
		g, err := Take(t.Context(), Wait{Timeout: 4 * time.Second}, func() (closer, error) {
			if err := free(); err != nil {
				return nil, err
			}
			return make(closer), nil
		})
		if g == nil || err != nil {
			t.Errorf("Take = %v, %v", g, err)
		}
	})
}
