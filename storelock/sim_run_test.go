package storelock

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// simulate runs a walk, and runs it again with a trace if a rule was broken.
func simulate(o simOptions) (*sim, error) {
	s := newSim(o)
	if s.run() == nil {
		return s, nil
	}
	s = newSim(o)
	s.traced = true
	return s, s.run()
}

// run makes steps until they are used up or a rule is broken.
func (s *sim) run() error {
	// How fast time goes by, and how long one client goes on before another has its
	// turn, is different in each walk: some schedules need bursts.
	pace := 50*time.Microsecond + time.Duration(s.rng.Int64N(int64(2*time.Millisecond)))/time.Duration(1+s.rng.IntN(8))
	sticky := s.rng.IntN(10)
	c := s.clients[0]
	for s.step = range s.steps {
		s.pass(time.Duration(s.rng.Int64N(int64(pace))))
		if s.rng.IntN(10) >= sticky {
			c = s.clients[s.rng.IntN(len(s.clients))]
		}
		if c.asleep > s.store.now {
			if s.rng.IntN(20) == 0 {
				s.pass(c.asleep - s.store.now)
			}
			continue
		}
		s.disturb(c)
		if c.asleep <= s.store.now {
			s.move(c)
		}
		if err := s.check(); err != nil {
			return fmt.Errorf("seed %d, step %d of %+v: %w\n%s", s.seed, s.step, s.simOptions, err, strings.Join(s.trace, "\n"))
		}
		if s.step%64 == 0 {
			s.store.tidy()
		}
	}
	return nil
}

// pass lets time go by, for those who sleep too, and lets late writes arrive.
func (s *sim) pass(d time.Duration) {
	for _, c := range s.clients {
		if over := min(d, c.asleep-s.store.now); over > 0 {
			c.lost += time.Duration(float64(over) * c.rate)
			if c.vm {
				c.bootLost += time.Duration(float64(over) * c.rate)
			}
		}
	}
	s.store.now += d
	s.late = slices.DeleteFunc(s.late, func(l lateEffect) bool {
		if l.at <= s.store.now {
			s.store.change(-1, l.name, l.data, true, s.rng)
			return true
		}
		return false
	})
}

// disturb is what may happen to anybody at any moment.
func (s *sim) disturb(c *simClient) {
	if s.suspends && s.rng.IntN(400) == 0 {
		c.asleep = s.store.now + time.Duration(s.rng.Int64N(int64(3*simStale)))
		s.log("%d sleeps until %v", c.id, c.asleep)
	}
	if s.skews && s.rng.IntN(2000) == 0 {
		c.skew += time.Duration(s.rng.Int64N(int64(4*time.Hour))) - 2*time.Hour
	}
	if s.crashes && s.rng.IntN(500) == 0 {
		s.log("%d dies", c.id)
		s.alive[c.proc.pid] = false
		if c.req.op == opStore && c.state != simIdle && !c.effected && s.rng.IntN(2) == 0 {
			s.late = append(s.late, lateEffect{s.store.now + time.Duration(s.rng.Int64N(int64(time.Second))), c.req.name, c.req.data})
		}
		*c = *s.newClient(c.id)
	}
}

func (s *sim) move(c *simClient) {
	if c.state == simIdle {
		if s.rng.IntN(3) == 0 {
			s.begin(c)
		}
		return
	}
	if c.state == simHolding {
		s.hold(c)
		return
	}
	if c.req.op == opWait {
		left := c.wakes - s.clock(c).mono
		if left > 0 && s.rng.IntN(4) == 0 {
			s.pass(left)
		}
		if s.clock(c).mono < c.wakes {
			return
		}
		c.effected, c.answer = true, answer{}
	}
	if s.slow && c.req.op != opWait && s.rng.IntN(100) == 0 {
		s.pass(time.Duration(s.rng.Int64N(int64(simStale / 4))))
	}
	if !c.effected {
		s.effect(c)
		if c.effected && s.traced {
			s.log("%d %s", c.id, describe(c.req, c.answer))
		}
		return
	}
	s.deliver(c)
}

func describe(q request, a answer) string {
	return fmt.Sprintf("%s %s -> %v %v", []string{"list", "load", "store", "delete", "wait", "done"}[q.op], q.name, a.keys, a.err)
}

func (s *sim) deliver(c *simClient) {
	now := s.clock(c)
	switch c.state {
	case simAcquiring:
		c.req = c.acq.step(now, c.answer)
		if c.req.op == opDone {
			s.acquired(c)
			return
		}
	case simRenewing:
		c.req = c.renewal.step(now, c.answer)
		if c.req.op == opDone {
			s.renewed(c)
			return
		}
	case simReleasing:
		c.state = simIdle
		return
	case simIdle, simHolding:
	}
	s.issue(c)
}

func (s *sim) acquired(c *simClient) {
	if c.acq.err != nil {
		s.log("%d gave up: %v", c.id, c.acq.err)
		c.state = simIdle
		return
	}
	c.state, c.mine = simHolding, c.acq.mine
	c.self = c.acq.mine.lock
	c.keep = keeping{cfg: &c.cfg, confirmed: c.mine.began}
	c.held++
	c.holdUntil = s.store.now + time.Duration(s.rng.Int64N(int64(20*time.Millisecond)))
	if s.rng.IntN(4) == 0 {
		c.holdUntil = s.store.now + time.Duration(s.rng.Int64N(int64(2*simStale)))
	}
	s.log("%d HOLDS exclusive=%v %s", c.id, c.cfg.exclusive, c.mine.name)
}

// hold is one step of a holder: it renews when that is due, and gives back at the end.
func (s *sim) hold(c *simClient) {
	now := s.clock(c)
	switch {
	case c.keep.lost(now):
		s.lose(c)
	case c.keep.due(now) && (!c.keep.failing || s.rng.IntN(10) == 0), s.rng.IntN(8) == 0:
		c.renewal, c.req = renew(&c.cfg, c.mine, c.self, now)
		c.state = simRenewing
		s.issue(c)
	case s.store.now >= c.holdUntil:
		c.state, c.req = simReleasing, remove(c.mine.name)
		s.log("%d gives back", c.id)
		s.issue(c)
	case s.rng.IntN(16) == 0:
		s.pass(min(c.holdUntil-s.store.now, time.Duration(s.rng.Int64N(int64(simStale)))))
	default:
		s.acts++
	}
}

func (s *sim) renewed(c *simClient) {
	c.state = simHolding
	now := s.clock(c)
	switch c.renewal.end {
	case renewed:
		c.mine, c.self = c.renewal.new, c.renewal.new.lock
		c.keep.succeeded(c.mine)
		s.log("%d renewed to %s", c.id, c.mine.name)
	case gone:
		s.lose(c)
	case unsure, running:
		c.mine.lock.Sequence = c.renewal.new.lock.Sequence
		c.keep.failed(now)
	}
}

func (s *sim) lose(c *simClient) {
	s.log("%d has lost it", c.id)
	c.lostLocks++
	c.state, c.req = simReleasing, remove(c.mine.name)
	s.issue(c)
}

func (s *sim) log(format string, args ...any) {
	if !s.traced {
		return
	}
	if len(s.trace) > 80 {
		s.trace = slices.Delete(s.trace, 0, 1)
	}
	s.trace = append(s.trace, fmt.Sprintf("%v ", s.store.now)+fmt.Sprintf(format, args...))
}

// believes says whether a client would go on with its work: what Guard.Check
// says without asking anybody.
func (s *sim) believes(c *simClient) bool {
	return (c.state == simHolding || c.state == simRenewing) && c.asleep <= s.store.now && c.keep.valid(s.clock(c))
}

// check looks for an exclusive holder beside another live one.
func (s *sim) check() error {
	for i, a := range s.clients {
		for _, b := range s.clients[:i] {
			if (a.cfg.exclusive || b.cfg.exclusive) && s.believes(a) && s.believes(b) {
				return fmt.Errorf("%d (exclusive: %v) and %d (exclusive: %v) both hold the lock", a.id, a.cfg.exclusive, b.id, b.cfg.exclusive)
			}
		}
	}
	return nil
}
