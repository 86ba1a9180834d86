package storelock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// faultyStore fails or changes what a test says.
type faultyStore struct {
	plainStore
	before func(ctx context.Context, q request) error
	ghosts []string // are listed below locks/ and never there
}

func newFaultyStore() *faultyStore {
	return &faultyStore{plainStore: plainStore{objects: map[string][]byte{}}}
}

func (f *faultyStore) hit(ctx context.Context, q request) error {
	if f.before == nil {
		return nil
	}
	return f.before(ctx, q)
}

func (f *faultyStore) List(ctx context.Context, prefix string) ([]string, error) {
	if err := f.hit(ctx, list(prefix)); err != nil {
		return nil, err
	}
	keys, err := f.plainStore.List(ctx, prefix)
	if prefix == locksPrefix {
		keys = append(keys, f.ghosts...)
	}
	return keys, err
}

func (f *faultyStore) Load(ctx context.Context, name string) ([]byte, error) {
	if err := f.hit(ctx, load(name)); err != nil {
		return nil, err
	}
	return f.plainStore.Load(ctx, name)
}

func (f *faultyStore) Store(ctx context.Context, name string, data []byte) error {
	if err := f.hit(ctx, request{op: opStore, name: name}); err != nil {
		return err
	}
	return f.plainStore.Store(ctx, name, data)
}

func (f *faultyStore) Delete(ctx context.Context, name string) error {
	if err := f.hit(ctx, remove(name)); err != nil {
		return err
	}
	return f.plainStore.Delete(ctx, name)
}

// TestTwoWhoStandReadyNeverWaitForEachOther: b stands ready behind a holder and a candidate
// of a's; a gives way to b, and stands ready behind b with another candidate. Each would
// know the other by its instance.
func TestTwoWhoStandReadyNeverWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := &allState{objects: map[string][]byte{}}
	var configs []*config
	add := func(id int) *allClient {
		cfg, err := Options{Exclusive: true, Timeout: time.Hour}.config()
		if err != nil {
			t.Fatal(err)
		}
		cfg.dead = func(Lock) bool { return false }
		configs = append(configs, &cfg)
		self := Lock{Exclusive: true, HostID: "h", PID: int64(id), ThreadID: int64(id), Instance: fmt.Sprintf("%032x", id)}
		acq, req := newAcquisition(&cfg, self, uint64(id), watch{}, instant{})
		s.clients = append(s.clients, allClient{state: simAcquiring, acq: *acq, req: req})
		return &s.clients[len(s.clients)-1]
	}
	s.clients = make([]allClient, 0, 3)
	run := func(c *allClient, until func() bool) {
		t.Helper()
		for n := 0; !until(); n++ {
			if n > 10_000 {
				t.Fatalf("%v never comes to that", c.req)
			}
			// Nobody sees anybody's ticket: everyone takes itself for the first.
			for name := range s.objects {
				if name[:len(queuePrefix)] == queuePrefix {
					delete(s.objects, name)
				}
			}
			for i := range s.clients {
				if &s.clients[i] == c {
					s.next(i, configs)
				}
			}
		}
	}
	holder := add(1)
	run(holder, func() bool { return holder.state != simAcquiring })
	a := add(2)
	run(a, func() bool { return a.acq.mine.there() })
	b := add(3)
	run(b, func() bool { return b.acq.mine.there() })
	first := a.acq.mine.name
	run(a, func() bool { return a.acq.mine.there() && a.acq.mine.name != first })
	delete(s.objects, holder.mine.name)
	for range 10_000 {
		run(a, func() func() bool { n := 0; return func() bool { n++; return n > 1 } }())
		run(b, func() func() bool { n := 0; return func() bool { n++; return n > 1 } }())
		if a.state != simAcquiring || b.state != simAcquiring {
			return
		}
	}
	t.Errorf("both wait: %q and %q, %v", a.acq.mine.name, b.acq.mine.name, s.objects)
}

// TestWithoutAQueueEverybodyIsServed: the queue is for fairness only.
func TestWithoutAQueueEverybodyIsServed(t *testing.T) {
	t.Parallel()
	for _, broken := range []op{opStore, opList} {
		synctest.Test(t, func(t *testing.T) {
			f := newFaultyStore()
			f.before = func(_ context.Context, q request) error {
				if len(q.name) >= len(queuePrefix) && q.name[:len(queuePrefix)] == queuePrefix && q.op == broken {
					return io.ErrUnexpectedEOF
				}
				return nil
			}
			var inside atomic.Int64
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() {
					for range 5 {
						g, err := Acquire(t.Context(), f, Options{Exclusive: n%4 != 0, Timeout: 20 * time.Minute})
						if err != nil {
							t.Errorf("%d without %v: %v", n, broken, err)
							return
						}
						if inside.Add(1) > 1 && n%4 != 0 {
							t.Error("not alone")
						}
						time.Sleep(10 * time.Millisecond)
						inside.Add(-1)
						if err := g.Close(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			time.Sleep(2 * time.Hour) // tickets that could not be deleted are tried again until then
		})
	}
}

func TestAnObjectThatIsListedAndNeverThereIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFaultyStore()
		f.ghosts = []string{"ghost"}
		for _, o := range []Options{{}, {Exclusive: true, Timeout: time.Second}, {Timeout: 2 * time.Hour}} {
			start, calls := time.Now(), f.calls
			_, err := Acquire(t.Context(), f, o)
			locked, ok := errors.AsType[*LockedError](err)
			if !ok || len(locked.Holders) != 1 || locked.Holders[0].Name != "locks/ghost" {
				t.Errorf("%+v: %v", o, err)
			}
			if took := time.Since(start); took > o.Timeout+2*time.Second {
				t.Errorf("%+v: took %v", o, took)
			}
			if n := f.calls - calls; n > 100_000 {
				t.Errorf("%+v: %d calls", o, n)
			}
		}
	})
}

// TestAWaitIsOverInTimeAlsoWhenEverythingMoves: each object is gone when it is loaded.
func TestAWaitIsOverInTimeAlsoWhenEverythingMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFaultyStore()
		n := 0
		f.before = func(_ context.Context, q request) error {
			time.Sleep(100 * time.Millisecond) // a slow store
			if n++; q.op == opList {
				f.ghosts = []string{fmt.Sprint("moved", n)}
			}
			return nil
		}
		start := time.Now()
		_, err := Acquire(t.Context(), f, Options{Timeout: 30 * time.Second})
		if took := time.Since(start); took > 40*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestAStaleObjectThatCouldNotBeDeletedIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFaultyStore()
		f.objects["locks/old"] = []byte("{")
		refused := 0
		f.before = func(_ context.Context, q request) error {
			if q.op == opDelete && q.name == "locks/old" && refused < 2 {
				refused++
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		start := time.Now()
		g, err := Acquire(t.Context(), f, Options{Exclusive: true, Timeout: time.Hour})
		if err != nil || refused != 2 || time.Since(start) > 33*time.Minute {
			t.Fatalf("%v after %v, refused %d times", err, time.Since(start), refused)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestARefreshThatIsCalledOffNeverLeavesOnlyTheNewObject: listings may not show that one yet.
func TestARefreshThatIsCalledOffNeverLeavesOnlyTheNewObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFaultyStore()
		g, err := Acquire(t.Context(), f, Options{Exclusive: true, RecheckDelay: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Minute) // old enough for a refresh that is asked for
		old := g.object().name
		ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer stop()
		if err := g.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if now := g.object().name; now != old || f.objects[old] == nil {
			t.Errorf("%q is now %q, and there is %v", old, now, f.objects)
		}
		if err := g.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestANumberIsNeverUsedTwice: a candidate's refresh fails, and the next one is made
// at the same moment. What is deleted of the first must not be the second.
func TestANumberIsNeverUsedTwice(t *testing.T) {
	t.Parallel()
	cfg, err := Options{Exclusive: true, Timeout: time.Hour}.config()
	if err != nil {
		t.Fatal(err)
	}
	m, _ := newAcquisition(&cfg, Lock{Instance: "i"}, 1, watch{}, instant{})
	m.create(instant{})
	m.renew(instant{})
	m.renewStep(instant{}, answer{})
	failed := m.renewal.new.name
	m.renewStep(instant{}, answer{err: io.ErrUnexpectedEOF}) // of the store
	m.renewStep(instant{}, answer{err: io.ErrUnexpectedEOF}) // of the deletion
	m.renew(instant{})
	if m.renewal.new.name == failed || len(m.left) != 1 {
		t.Errorf("%q again, left %q", failed, m.left)
	}
}

func TestLossIsToldInTimeAlsoWhenOneAttemptTakesAllOfIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFaultyStore()
		var hangs atomic.Bool
		f.before = func(ctx context.Context, _ request) error {
			if hangs.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		const stale = 2 * time.Second // calls may take a second
		g, err := Acquire(t.Context(), f, Options{Exclusive: true, Stale: stale})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		hangs.Store(true)
		<-g.Context().Done()
		if took := time.Since(start); took > stale-stale/12 {
			t.Errorf("told after %v, others may come after %v", took, stale)
		}
		hangs.Store(false)
		g.Close()
		time.Sleep(time.Minute)
	})
}
