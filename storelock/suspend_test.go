package storelock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// wornClock is the real one with differences that a test sets: what a suspend, a pause of
// a virtual machine or a hand at the clock does.
type wornClock struct {
	systemClock
	mu         sync.Mutex
	boot, wall time.Duration
}

func (c *wornClock) now() instant {
	i := c.systemClock.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	i.boot += c.boot
	i.wall = i.wall.Add(c.wall)
	return i
}

func (c *wornClock) jump(boot, wall time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot += boot
	c.wall += wall
}

// plainStore is a map, as small as a Backend can be.
type plainStore struct {
	mu      sync.Mutex
	objects map[string][]byte
	calls   int
}

func (p *plainStore) String() string { return "plain" }

func (p *plainStore) do(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	f()
}

func (p *plainStore) List(_ context.Context, prefix string) (keys []string, err error) {
	p.do(func() {
		for name := range p.objects {
			if len(name) > len(prefix) && name[:len(prefix)+1] == prefix+"/" {
				keys = append(keys, keyOf(name))
			}
		}
	})
	return keys, nil
}

func (p *plainStore) Load(_ context.Context, name string) (data []byte, err error) {
	p.do(func() {
		var ok bool
		if data, ok = p.objects[name]; !ok {
			err = ErrNotFound
		}
	})
	return data, err
}

func (p *plainStore) Store(_ context.Context, name string, data []byte) error {
	p.do(func() { p.objects[name] = data })
	return nil
}

func (p *plainStore) Delete(_ context.Context, name string) (err error) {
	p.do(func() {
		if _, ok := p.objects[name]; !ok {
			err = ErrNotFound
		}
		delete(p.objects, name)
	})
	return err
}

func TestAfterASuspendTheLockIsRenewedOrLostBeforeTheNextStep(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]struct{ boot, wall time.Duration }{
		"suspend of an hour": {time.Hour, time.Hour}, "pause of a virtual machine": {0, time.Hour}, "clock set by ten years": {0, 87600 * time.Hour},
		"clock set back": {0, -time.Hour}, "suspend and clock set back": {time.Hour, -time.Hour},
	} {
		for _, taken := range []bool{false, true} {
			p := &plainStore{objects: map[string][]byte{}}
			c := &wornClock{systemClock: newSystemClock()}
			o := Options{Exclusive: true}
			o.test.clock = c
			g, err := Acquire(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			before := g.object().name
			calls := p.calls
			if err := g.Check(t.Context()); err != nil || p.calls != calls {
				t.Errorf("%s: awake: %v, %d calls", name, err, p.calls-calls)
			}
			c.jump(jump.boot, jump.wall)
			if taken { // and given back
				p.do(func() { clear(p.objects) })
			}
			err = g.Check(t.Context())
			if taken != errors.Is(err, ErrLost) || (g.Context().Err() != nil) != taken {
				t.Errorf("%s, taken %v: %v, context: %v", name, taken, err, g.Context().Err())
			}
			if !taken && (err != nil || g.object().name == before) {
				t.Errorf("%s: not renewed: %v", name, err)
			}
			g.Close()
		}
	}
}

func TestNobodyIsTakenForDeadByAClockThatJumps(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{time.Hour, -time.Hour, 31 * time.Minute, -31 * time.Minute, 87600 * time.Hour} {
		p := &plainStore{objects: map[string][]byte{}}
		o := Options{Exclusive: true, LeaseOnly: true}
		g, err := Acquire(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		c := &wornClock{systemClock: newSystemClock()}
		o.test.clock = c
		go func() {
			time.Sleep(20 * time.Millisecond) // in the middle of its watching
			c.jump(jump, jump)
		}()
		o.Timeout = 60 * time.Millisecond
		if _, err := Acquire(t.Context(), p, o); !errors.Is(err, ErrTimeout) {
			t.Errorf("%v: %v", jump, err)
		}
		if err := g.Close(); err != nil {
			t.Errorf("%v: %v", jump, err)
		}
	}
}

func TestDeathIsProvenOnlyByTheSameKernelAndNamespaces(t *testing.T) {
	t.Parallel()
	me := thisProcess()
	if me.bootID == "" || me.pidSpace == "" || me.timeSpace == "" || me.started == 0 {
		t.Skipf("can't be read here: %+v", me)
	}
	l := Options{}.template(me)
	gone, reused, unreadable, group := l, l, l, l
	gone.PID = 1 << 22 // above the highest that a kernel gives
	reused.Started--
	unreadable.Started = 0
	group.PID = -1
	for name, c := range map[string]struct {
		lock Lock
		want bool
	}{"alive": {l, false}, "gone": {gone, true}, "its pid is another's": {reused, true}, "its start is not known": {unreadable, false}, "no pid": {group, false}} {
		if got := me.dead(c.lock); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		for _, change := range []func(*process){
			func(p *process) { p.bootID = "b" }, func(p *process) { p.bootID = "" }, func(p *process) { p.pidSpace = "p" }, func(p *process) { p.timeSpace = "t" },
		} {
			other := me
			change(&other)
			if other.dead(c.lock) {
				t.Errorf("%s: proven from elsewhere", name)
			}
		}
	}
}
