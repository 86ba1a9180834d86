package storelock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A Guard is a lock that is held. It renews itself in the background. It may be
// used by several goroutines. One that is forgotten is renewed as long as the
// process lives: it stays locked, and never silently unlocks.
type Guard struct {
	s      *session
	name   string // of the acquisition
	ctx    context.Context
	cancel context.CancelCauseFunc
	turn   chan struct{} // has one element while nobody talks to the store
	stop   chan struct{}
	halt   sync.Once     // closes stop
	ended  chan struct{} // the refresher has

	mu      sync.Mutex // for what follows; never held during a call of the store
	mine    object
	keeping keeping
	foreign bool  // a Borg was seen in this store
	failure error // of the last renewal that was not successful
	lost    error
	closed  bool
	handed  bool // over to another process
	left    []string
	result  error // of Close
}

func newGuard(ctx context.Context, s *session, mine object, foreign bool) *Guard {
	// The values of ctx, and not its end: whoever waits for a lock with a deadline does not
	// want to lose it then, and an end that is no loss must not look like one.
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	g := &Guard{
		s: s, name: s.self.Instance, ctx: work, cancel: cancel, mine: mine, foreign: foreign,
		turn: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
		keeping: keeping{cfg: &s.cfg, confirmed: mine.began},
	}
	g.turn <- struct{}{}
	go g.refresh()
	return g
}

// Context ends when the guard does, and then its cause is what Err says: ErrLost when the
// lock is lost, ErrNotMine after HandOver, ErrNotLocked after Close. It does not end with
// the context with which the lock was acquired: see Bind.
func (g *Guard) Context() context.Context { return g.ctx }

// Bind gives the context for work under the lock that may also be called off: it ends with ctx
// and with the guard, and its cause is that of whichever ended first. stop frees it.
func (g *Guard) Bind(ctx context.Context) (bound context.Context, stop context.CancelFunc) {
	bound, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })
	return bound, func() {
		release()
		cancel(nil)
	}
}

// Exclusive says whether nobody else may hold the lock.
func (g *Guard) Exclusive() bool { return g.s.cfg.exclusive }

// Instance names this acquisition, and no other ever. Unlike the key of its object
// it stays the same: record it in what is written under the lock, so that a
// writer that comes late is noticed.
func (g *Guard) Instance() string { return g.name }

// Err is nil while the lock is held as far as we know, without asking anybody; else
// ErrLost with its reason, ErrNotMine after HandOver, or ErrNotLocked after Close. A lock that
// was lost stays so: ErrLost after Close too.
func (g *Guard) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.lost != nil:
		return g.lost
	case g.handed:
		return ErrNotMine
	case g.closed:
		return ErrNotLocked
	}
	return nil
}

// Check is to be called right before each step that can't be taken back. After nil
// nobody else could have the lock when it was asked; it asks the store itself if the last
// renewal is too long ago by any clock, as after a suspend, and always where
// originals have been seen, which may remove what is younger than ours would.
//
// After ErrLost the work has to stop. After another error it is not known, and the
// step must not be taken now. A check is no fence: see the package documentation.
func (g *Guard) Check(ctx context.Context) error {
	return g.inTurn(ctx, func(ctx context.Context) error {
		if g.isDoubtful() {
			if err := g.renew(ctx, g.s.self); err != nil {
				return err
			}
		}
		if g.hasForeign() {
			return g.confirm(ctx)
		}
		return nil
	})
}

// Refresh renews the lock now, unless that was done a moment ago. It is needed by
// nobody who lets the guard do it.
func (g *Guard) Refresh(ctx context.Context) error {
	return g.inTurn(ctx, func(ctx context.Context) error {
		if g.age() < g.s.cfg.refreshAfter()/2 {
			return g.confirm(ctx)
		}
		return g.renew(ctx, g.s.self)
	})
}

// inTurn lets one at a time talk to the store about our object: its name changes.
func (g *Guard) inTurn(ctx context.Context, f func(context.Context) error) error {
	if err := g.Err(); err != nil {
		return err
	}
	select {
	case <-g.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { g.turn <- struct{}{} }()
	if err := g.Err(); err != nil {
		return err
	}
	if ctx.Err() != nil { // the turn was free at the same moment
		return context.Cause(ctx)
	}
	if err := f(ctx); err != nil {
		return err
	}
	return g.Err()
}

// confirm looks for our object.
func (g *Guard) confirm(ctx context.Context) error {
	mine := g.object()
	a := g.s.do(ctx, load(mine.name))
	if isNotFound(a.err) {
		return g.lose(fmt.Errorf("%w: %q is not there any more", ErrLost, mine.name))
	}
	if a.err != nil {
		return fmt.Errorf("is the lock still there? %w", a.err)
	}
	return nil
}

// renew replaces our object. It says ErrLost if the lock is lost by now.
func (g *Guard) renew(ctx context.Context, as Lock) error {
	mine := g.object()
	// An attempt that hangs must not outlast the time in which a loss has to be told.
	ctx, stop := context.WithTimeout(ctx, g.patience())
	defer stop()
	began := g.s.clock.now()
	r, first := renew(&g.s.cfg, mine, as, began)
	g.s.run(ctx, &r, first, func(error) {}, g.s.cfg.stale/24)
	now := g.s.clock.now()
	g.mu.Lock()
	g.left = append(g.left, r.left...)
	g.s.self.Sequence = r.new.lock.Sequence
	switch r.end {
	case renewed:
		g.mine, g.s.self = r.new, r.new.lock
		g.keeping.succeeded(r.new)
	case gone, unsure, running:
		g.keeping.failed(began)
		g.failure = r.err
		// The number must not be used again: the object with it may yet arrive.
		g.mine.lock.Sequence = r.new.lock.Sequence
	}
	lost := g.keeping.lost(now)
	g.mu.Unlock()
	switch {
	case r.end == renewed:
		return nil
	case r.end == gone:
		return g.lose(fmt.Errorf("%w: %q is not there any more", ErrLost, mine.name))
	case lost:
		return g.lose(tooLate(r.err))
	}
	return fmt.Errorf("the lock could not be renewed: %w", r.err)
}

func (g *Guard) lose(why error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost == nil {
		g.lost = why
		g.cancel(why)
	}
	return g.lost
}

func (g *Guard) object() object {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mine
}

func (g *Guard) isDoubtful() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.keeping.doubtful(g.s.clock.now())
}

func (g *Guard) hasForeign() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.foreign
}

// Close gives the lock back. After nil our object is gone. ErrLost: the lock had been
// lost before, and somebody had noticed; ErrNotLocked: our object was gone, and nobody had, so
// that it is not known since when the work went on without the lock. The two are
// never the same error, and either means that the work may have been disturbed. Any
// other error: the object may still be there, after several attempts, and is deleted in
// the background as soon as that works, or goes stale. A second Close does nothing and says the same, and
// so does one after HandOver, which says nil.
func (g *Guard) Close() error {
	if g == nil {
		return nil
	}
	<-g.turn
	defer func() { g.turn <- struct{}{} }()
	g.mu.Lock()
	closed, handed := g.closed, g.handed
	g.closed = true
	g.mu.Unlock()
	if closed {
		return g.result
	}
	if !handed {
		g.halt.Do(func() { close(g.stop) })
		g.cancel(ErrNotLocked)
		g.result = g.release()
		g.s.uses.end()
	}
	return g.result
}

// retire ends a guard that has nothing to give back any more.
func (g *Guard) retire(why error) {
	g.halt.Do(func() { close(g.stop) })
	g.cancel(why)
	g.s.uses.end()
}

func (g *Guard) release() error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(g.ctx), cleanupTime)
	defer stop()
	err := g.removeMine(ctx)
	left := slices.DeleteFunc(g.left, func(name string) bool { return g.s.do(ctx, remove(name)).err == nil })
	if err != nil && !isNotFound(err) {
		left = append(left, g.mine.name)
	}
	g.s.forget(left)
	switch {
	case g.lost != nil:
		return g.lost
	case isNotFound(err):
		return notThere(g.mine.name)
	case err != nil:
		return fmt.Errorf("the lock could not be given back: %w", errors.Join(ErrFailed, err))
	}
	return nil
}

// removeMine tries more than once: a fault of a moment must not keep others out for a stale
// time, nor make a failure of work that is done.
func (g *Guard) removeMine(ctx context.Context) (err error) {
	for n := range maxFaults {
		if n > 0 && g.s.pause(ctx, g.s.cfg.recheck) != nil {
			break
		}
		err = g.s.doFor(ctx, remove(g.mine.name), cleanupTime).err
		switch {
		case n > 0 && isNotFound(err):
			return nil // the attempt before had worked, and said it had not
		case err == nil, isNotFound(err):
			return err
		}
	}
	return err
}
