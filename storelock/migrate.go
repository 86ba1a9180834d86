package storelock

import (
	"context"
	"fmt"
	"strings"
)

// Owner is who a lock is to belong to from now on.
type Owner struct {
	HostID string // as Options.HostID; empty: as before
	PID    int    // a process of this host; 0: the calling one
}

// Migrate gives the lock another owner, without a moment in which nobody has it:
// for a program that goes on in another process. Errors are those of Refresh;
// after one the lock belongs to the owner before, unless it is ErrLost.
func (g *Guard) Migrate(ctx context.Context, to Owner) error {
	return g.inTurn(ctx, func(ctx context.Context) error { return g.migrate(ctx, to) })
}

func (g *Guard) migrate(ctx context.Context, to Owner) error {
	next := g.s.self
	next.ThreadID = randomThread()
	if to.HostID != "" {
		next.HostID = hostID(to.HostID)
	}
	next.PID = int64(to.PID)
	if to.PID == 0 {
		next.PID = thisProcess().pid
	}
	next.Started = startOf(next.PID)
	return g.renew(ctx, next)
}

// HandOver is [Guard.Migrate] to a process that goes on with the lock by [Adopt], which
// wants the key that is returned here. After nil this guard has ended, its
// context too: Close leaves the lock where it is, and the rest says ErrNotMine. Nobody
// refreshes the lock until it is adopted, so that has to happen within the stale
// time. Errors are those of Migrate; after one the guard goes on.
func (g *Guard) HandOver(ctx context.Context, to Owner) (key string, err error) {
	err = g.inTurn(ctx, func(ctx context.Context) error {
		if err := g.migrate(ctx, to); err != nil {
			return err
		}
		g.mu.Lock()
		g.handed, key = true, keyOf(g.mine.name)
		left := g.left
		g.mu.Unlock()
		g.s.forget(left)
		g.retire(ErrNotMine)
		return nil
	})
	if key != "" {
		return key, nil
	}
	return "", err
}

// Adopt goes on with a lock that another process has handed over to this one, under
// the same instance id. The mode is the lock's own; of the options, Exclusive, Timeout,
// Waiting and Cleared mean nothing here. A lock is to be adopted once.
//
// Errors: ErrNotLocked if it is not there, also if somebody took it for dead meanwhile;
// ErrNotMine if it belongs to another process; ErrFailed with the cause if the
// store fails, ErrOptions, or the cause for which ctx ended. After an error the
// lock is as it was.
func Adopt(ctx context.Context, backend Backend, key string, opts Options) (*Guard, error) {
	s, err := newSession(backend, opts)
	if err != nil {
		return nil, err
	}
	g, err := s.adopt(ctx, key)
	if err != nil {
		s.uses.end()
	}
	return g, err
}

func (s *session) adopt(ctx context.Context, key string) (*Guard, error) {
	if key == "" || strings.Contains(key, "/") {
		return nil, fmt.Errorf("%w: %q is no key of a lock", ErrOptions, key)
	}
	old, err := s.own(ctx, lockName(key))
	if err != nil {
		return nil, err
	}
	// The thread id stays a new one: an attempt before this one may have failed, and
	// what is still to be deleted of it must not be ours.
	s.self.Instance, s.self.Exclusive, s.self.Since = old.lock.Instance, old.lock.Exclusive, old.lock.Since
	s.cfg.exclusive = old.lock.Exclusive
	r, first := renew(&s.cfg, old, s.self, old.began)
	s.run(ctx, &r, first, func(error) {}, cleanupTime)
	s.forget(r.left)
	switch {
	case r.end == gone:
		return nil, notThere(old.name)
	case r.end != renewed && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case r.end != renewed:
		return nil, failed(r.err)
	}
	s.self = r.new.lock
	g := newGuard(ctx, s, r.new, false)
	g.lookAround(ctx)
	return g, nil
}

func notThere(name string) error {
	return fmt.Errorf("%w: %q is not there any more", ErrNotLocked, name)
}

// own loads an object that has to belong to this process.
func (s *session) own(ctx context.Context, name string) (object, error) {
	now := s.clock.now()
	a := s.do(ctx, load(name))
	switch {
	case isNotFound(a.err):
		return object{}, notThere(name)
	case ctx.Err() != nil:
		return object{}, context.Cause(ctx)
	case a.err != nil:
		return object{}, failed(a.err)
	}
	l, err := decode(a.data)
	if err != nil {
		return object{}, fmt.Errorf("%w: %q: %w", ErrNotMine, name, err)
	}
	if !s.self.sameProcess(l) {
		return object{}, fmt.Errorf("%w: %q is held %v", ErrNotMine, name, Info{Name: name, Lock: l})
	}
	return object{name: name, data: a.data, lock: l, began: now}, nil
}

// sameProcess says whether a lock was made over to the process that l names. A Borg's
// never was, and one whose start is not known might be an earlier process's.
func (l Lock) sameProcess(of Lock) bool {
	return of.Instance != "" && of.PID == l.PID && of.Started == l.Started &&
		of.BootID == l.BootID && of.PIDSpace == l.PIDSpace && of.TimeSpace == l.TimeSpace
}
