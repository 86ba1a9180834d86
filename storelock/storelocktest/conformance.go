package storelocktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
)

// Conformance checks that a backend keeps the promises of [storelock.Backend], and
// that the lock works on it. open gives an empty store each time.
func Conformance(t *testing.T, open func(t *testing.T) storelock.Backend) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, storelock.Backend){
		"empty prefixes list nothing":             emptyLists,
		"what is stored is listed and loaded":     storesAndLoads,
		"storing again replaces":                  replaces,
		"deleting twice is not found":             deletesOnce,
		"loading what is not there is not found":  loadsMissing,
		"large objects are not read":              refusesLarge,
		"a prefix shows only its own":             keepsPrefixesApart,
		"many at once are all there":              storesMany,
		"a cancelled context ends a call":         obeysContext,
		"exclusive excludes, shared does not":     excludes,
		"many contenders are never two at a time": contends,
		"the self-test is passed":                 selfTests,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func keys(t *testing.T, b storelock.Backend, prefix string, want ...string) {
	t.Helper()
	got, err := b.List(t.Context(), prefix)
	must(t, err)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q has %q, want %q", prefix, got, want)
	}
}

func emptyLists(t *testing.T, b storelock.Backend) {
	t.Helper()
	keys(t, b, "locks")
	keys(t, b, "queue")
}

func storesAndLoads(t *testing.T, b storelock.Backend) {
	t.Helper()
	data := []byte(`{"exclusive": true}`)
	must(t, b.Store(t.Context(), "locks/0123456789abcdef", data))
	keys(t, b, "locks", "0123456789abcdef")
	got, err := b.Load(t.Context(), "locks/0123456789abcdef")
	must(t, err)
	if !bytes.Equal(got, data) {
		t.Errorf("loaded %q", got)
	}
	must(t, b.Delete(t.Context(), "locks/0123456789abcdef"))
	keys(t, b, "locks")
}

func replaces(t *testing.T, b storelock.Backend) {
	t.Helper()
	for _, text := range []string{"long before", "short", ""} {
		must(t, b.Store(t.Context(), "locks/aa", []byte(text)))
		got, err := b.Load(t.Context(), "locks/aa")
		must(t, err)
		if string(got) != text {
			t.Errorf("loaded %q, want %q", got, text)
		}
	}
	keys(t, b, "locks", "aa")
}

func deletesOnce(t *testing.T, b storelock.Backend) {
	t.Helper()
	must(t, b.Store(t.Context(), "locks/aa", nil))
	must(t, b.Delete(t.Context(), "locks/aa"))
	for _, name := range []string{"locks/aa", "locks/never", "nowhere/aa"} {
		if err := b.Delete(t.Context(), name); !errors.Is(err, storelock.ErrNotFound) {
			t.Errorf("deleting %q: %v", name, err)
		}
	}
}

func loadsMissing(t *testing.T, b storelock.Backend) {
	t.Helper()
	must(t, b.Store(t.Context(), "locks/aa", nil))
	for _, name := range []string{"locks/a", "locks/aaa", "nowhere/aa"} {
		if _, err := b.Load(t.Context(), name); !errors.Is(err, storelock.ErrNotFound) {
			t.Errorf("loading %q: %v", name, err)
		}
	}
}

func refusesLarge(t *testing.T, b storelock.Backend) {
	t.Helper()
	must(t, b.Store(t.Context(), "locks/aa", make([]byte, storelock.MaxObject)))
	if data, err := b.Load(t.Context(), "locks/aa"); err != nil || len(data) != storelock.MaxObject {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	must(t, b.Store(t.Context(), "locks/bb", make([]byte, storelock.MaxObject+1)))
	if _, err := b.Load(t.Context(), "locks/bb"); !errors.Is(err, storelock.ErrTooLarge) {
		t.Errorf("one byte too many: %v", err)
	}
	must(t, b.Delete(t.Context(), "locks/bb"))
}

func keepsPrefixesApart(t *testing.T, b storelock.Backend) {
	t.Helper()
	for _, name := range []string{"locks/aa", "queue/bb", "probe/cc"} {
		must(t, b.Store(t.Context(), name, nil))
	}
	keys(t, b, "locks", "aa")
	keys(t, b, "queue", "bb")
	keys(t, b, "probe", "cc")
	keys(t, b, "lock")
}

func storesMany(t *testing.T, b storelock.Backend) {
	t.Helper()
	var wait sync.WaitGroup
	var want []string
	for n := range 64 {
		key := fmt.Sprintf("%016x", n)
		want = append(want, key)
		wait.Go(func() {
			if err := b.Store(t.Context(), "locks/"+key, []byte(key)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	keys(t, b, "locks", want...)
}

func obeysContext(t *testing.T, b storelock.Backend) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Store(ctx, "locks/aa", nil)
		_, _ = b.List(ctx, "locks")
	}()
	<-done
}

func excludes(t *testing.T, b storelock.Backend) {
	t.Helper()
	one, err := storelock.Acquire(t.Context(), b, storelock.Options{})
	must(t, err)
	two, err := storelock.Acquire(t.Context(), b, storelock.Options{})
	must(t, err)
	if _, err := storelock.Acquire(t.Context(), b, storelock.Options{Exclusive: true}); !errors.Is(err, storelock.ErrTimeout) {
		t.Errorf("exclusive beside shared: %v", err)
	}
	must(t, one.Close())
	must(t, two.Close())
	three, err := storelock.Acquire(t.Context(), b, storelock.Options{Exclusive: true})
	must(t, err)
	for _, exclusive := range []bool{true, false} {
		if _, err := storelock.Acquire(t.Context(), b, storelock.Options{Exclusive: exclusive}); !errors.Is(err, storelock.ErrTimeout) {
			t.Errorf("beside exclusive: %v", err)
		}
	}
	must(t, three.Close())
	keys(t, b, "locks")
	keys(t, b, "queue")
}

func contends(t *testing.T, b storelock.Backend) {
	t.Helper()
	var wait sync.WaitGroup
	var inside, turns atomic.Int64
	for range 8 {
		wait.Go(func() {
			for range 3 {
				g, err := storelock.Acquire(t.Context(), b, storelock.Options{Exclusive: true, Timeout: time.Minute})
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two at a time")
				}
				time.Sleep(time.Millisecond) // it is held for a while, nobody waits for it
				inside.Add(-1)
				turns.Add(1)
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if turns.Load() != 24 {
		t.Errorf("%d turns", turns.Load())
	}
	keys(t, b, "locks")
	keys(t, b, "queue")
}

func selfTests(t *testing.T, b storelock.Backend) {
	t.Helper()
	report, err := storelock.SelfTest(t.Context(), b, storelock.SelfTestOptions{})
	must(t, err)
	t.Log(report)
	keys(t, b, "probe")
}
