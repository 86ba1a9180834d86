package storelock

import (
	"context"
	"errors"
	"math/rand/v2"
)

// Acquire takes the lock that a backend stands for, shared or exclusive as the
// options say. After nil the lock is held until the guard is closed or the lock
// is lost, which [Guard.Context] tells: ctx is for the attempt only, and its end means
// nothing to the guard. After an error nothing is held and
// nothing of ours is left in the store, or will be deleted in the background as
// soon as it appears.
//
// Errors: a *LockedError (ErrTimeout) if others hold it, ErrFailed with the cause
// if the store fails, ErrOptions, or the cause for which ctx ended.
func Acquire(ctx context.Context, backend Backend, opts Options) (*Guard, error) {
	s, err := newSession(backend, opts)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		s.uses.end()
		return nil, context.Cause(ctx)
	}
	watched := s.remembered()
	m, first := newAcquisition(&s.cfg, s.self, s.seed, watched, s.clock.now())
	s.run(ctx, &watchful{m, s}, first, m.cancel, cleanupTime)
	s.self = m.self
	s.remember(m.watch)
	s.report(m.cleared)
	s.forget(m.left)
	if m.err != nil {
		s.uses.end()
		return nil, s.explain(m)
	}
	return newGuard(ctx, s, m.mine, m.watch.hasForeign()), nil
}

// session is what one acquisition and its guard have in common.
type session struct {
	*runner
	cfg  config
	opts Options
	self Lock
	seed uint64
}

func newSession(backend Backend, opts Options) (*session, error) {
	cfg, err := opts.config()
	if err != nil {
		if opts.Idle != nil {
			opts.Idle()
		}
		return nil, err
	}
	self := thisProcess()
	if opts.test.self != nil {
		self = *opts.test.self
	}
	if cfg.dead == nil {
		cfg.dead = self.dead
	}
	if opts.LeaseOnly {
		cfg.dead = func(Lock) bool { return false }
	}
	s := &session{cfg: cfg, opts: opts, self: opts.template(self), seed: opts.test.seed}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	s.runner = newRunner(backend, opts, &s.cfg)
	return s, nil
}

// watchful tells the caller when an acquisition begins to wait.
type watchful struct {
	*acquisition
	s *session
}

func (w *watchful) step(now instant, a answer) request {
	next := w.acquisition.step(now, a)
	if next.op == opWait && w.s.opts.Waiting != nil && w.cfg.timeout > 0 {
		if e := w.s.locked(w.acquisition, &blocked{waited: now.watched(w.began), holders: w.blockers(now)}); len(e.Holders) > 0 {
			w.s.opts.Waiting(e)
			w.s.opts.Waiting = nil
		}
	}
	return next
}

func (s *session) locked(m *acquisition, b *blocked) *LockedError {
	e := &LockedError{Store: s.backend.String(), Exclusive: s.cfg.exclusive, Waited: b.waited}
	now := s.clock.now()
	for _, key := range b.holders[:min(len(b.holders), mostHolders)] {
		if seen := m.watch[key]; seen != nil {
			e.Holders = append(e.Holders, seen.info(lockName(key), &s.cfg, now))
		}
	}
	e.More = len(b.holders) - len(e.Holders)
	return e
}

// mostHolders is how many are told of one by one: a store full of garbage has thousands.
const mostHolders = 20

func (s *session) explain(m *acquisition) error {
	b, ok := errors.AsType[*blocked](m.err)
	if !ok {
		return m.err
	}
	e := s.locked(m, b)
	if b.stuck != nil {
		return errors.Join(e, b.stuck)
	}
	return e
}

func (s *session) report(gone []cleared) {
	if s.opts.Cleared == nil {
		return
	}
	for _, c := range gone {
		s.opts.Cleared(c.was.info(lockName(c.key), &s.cfg, s.clock.now()))
	}
}
