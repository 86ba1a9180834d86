package storelock

import (
	"context"
	"fmt"
	"time"
)

// refresh renews the lock until the guard is closed or the lock is lost. It has
// a goroutine of its own, and calls of the store of its own: it never waits
// behind data.
func (g *Guard) refresh() {
	defer close(g.ended)
	for g.sleep() {
		if g.expire() {
			return
		}
		if !g.isDue() {
			continue
		}
		ctx, stop := context.WithTimeout(context.WithoutCancel(g.ctx), g.patience())
		_ = g.inTurn(ctx, g.renewAndLook) // what comes of it is in the guard
		stop()
		if g.Err() != nil {
			return
		}
	}
}

func (g *Guard) renewAndLook(ctx context.Context) error {
	if !g.isDue() {
		return nil // a check was faster
	}
	if err := g.renew(ctx, g.s.self); err != nil {
		return err
	}
	g.lookAround(ctx)
	return nil
}

// sleep says false when the guard was closed.
func (g *Guard) sleep() bool {
	g.mu.Lock()
	d := g.keeping.next(g.s.clock.now())
	g.mu.Unlock()
	c, free := g.s.clock.after(d)
	defer free()
	select {
	case <-c:
		return true
	case <-g.stop:
		return false
	}
}

// expire gives the lock up if it is too late, also while somebody else's attempt to
// renew it has not come to its end.
func (g *Guard) expire() bool {
	g.mu.Lock()
	lost, why := g.keeping.lost(g.s.clock.now()), g.failure
	g.mu.Unlock()
	if lost {
		_ = g.lose(tooLate(why))
	}
	return lost
}

func tooLate(why error) error {
	return fmt.Errorf("%w: it could not be renewed in time: %w", ErrLost, why)
}

func (g *Guard) isDue() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.keeping.due(g.s.clock.now())
}

func (g *Guard) patience() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	left := g.s.cfg.validFor() - g.s.clock.now().age(g.keeping.confirmed)
	if left <= 0 {
		return g.s.cfg.grace() // we have slept, or are about to give up
	}
	return left
}

func (g *Guard) age() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.s.clock.now().age(g.keeping.confirmed)
}

// mostLooked is how many objects are looked at for a Borg's.
const mostLooked = 100

// lookAround finds out whether originals use this store: they go by stamps and
// clocks, so our object is not safe from them.
func (g *Guard) lookAround(ctx context.Context) {
	if g.hasForeign() {
		return
	}
	a := g.s.do(ctx, list(locksPrefix))
	for _, key := range a.keys[:min(len(a.keys), mostLooked)] {
		got := g.s.do(ctx, load(lockName(key)))
		if got.err != nil {
			continue
		}
		if l, err := decode(got.data); err == nil && l.Instance == "" {
			g.mu.Lock()
			g.foreign = true
			g.mu.Unlock()
			return
		}
	}
}
