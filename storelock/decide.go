package storelock

import (
	"fmt"
	"slices"
)

// candidate is one candidate of one owner, whatever key it has at the moment.
type candidate struct {
	instance string
	thread   int64
}

func candidateOf(s *seen) candidate { return candidate{s.lock.Instance, s.lock.ThreadID} }

// enter decides whether to try: only without an exclusive lock there, as the
// original, and only when it is our turn. Behind an exclusive lock of our own kind
// the first of the queue may stand ready, so that the change over takes no
// recheck delay; that one holds and does not look again, or yields.
func (m *acquisition) enter(now instant, others []*seen) request {
	blocked, ours := false, true
	m.known = map[candidate]bool{}
	for _, s := range others {
		if s.exclusive() {
			blocked = true
			ours = ours && !s.foreign()
			m.known[candidateOf(s)] = true
		}
	}
	switch {
	case m.cfg.timeout == 0 && blocked:
		return m.giveUp(now)
	case m.cfg.timeout == 0:
		return m.create(now)
	}
	m.queue.blocked = blocked
	m.queue.early = blocked && ours && m.cfg.exclusive
	return m.askQueue(now)
}

// create makes a candidate. It has another thread id than those before it, as others
// would find it twice and take it for one: who stands ready behind a holder waits
// for that candidate only, and two must never wait for each other.
func (m *acquisition) create(now instant) request {
	m.self.ThreadID = 1 + m.random(1<<24)
	m.self.Since = now.wall
	m.mine = newObject(m.self, now, m.cfg)
	m.self.Sequence = m.mine.lock.Sequence
	m.phase = phaseCreate
	return store(m.mine)
}

func (m *acquisition) created(now instant, a answer) request {
	if a.err != nil {
		m.broken = a.err
		m.denied++
		if !mayArrive(a.err) { // there is nothing to delete, which might fail as well
			return m.yielded(now, answer{})
		}
		return m.yield(a.err)
	}
	m.denied = 0
	m.hold(now)
	m.progress = now
	return m.pauseFor(m.restless(now))
}

// decide is the deciding look, or one of those before it.
func (m *acquisition) decide(now instant, others []*seen) request {
	if !slices.Contains(m.keys, keyOf(m.mine.name)) {
		return m.unlisted() // somebody took us for dead, or cleared the store
	}
	m.vanishings = 0
	blocked := false
	for _, s := range others {
		if !s.exclusive() {
			blocked = blocked || m.cfg.exclusive
			continue
		}
		if !m.cfg.exclusive || s.foreign() || !m.known[candidateOf(s)] {
			return m.yield(nil)
		}
		blocked = true
	}
	switch rest := m.restless(m.asked); {
	case now.age(m.mine.began) > m.cfg.refreshAfter():
		return m.renew(now)
	case blocked:
		m.before = nil
		return m.keepPlace(now)
	case rest > 0:
		return m.pauseFor(m.restless(now))
	case !m.cfg.rules.oneLook && !slices.Equal(m.before, m.keys):
		m.before = m.keys
		return m.look(now)
	}
	return m.leaveQueue()
}

// unlisted is for a candidate that is not there any more. Once that may be, since others clear away what
// they take for dead; a store that loses each of them is not locked, but broken.
func (m *acquisition) unlisted() request {
	m.broken = fmt.Errorf("%w: what it has stored it does not list", ErrStore)
	if m.vanishings++; m.vanishings >= maxFaults {
		m.denied = maxFaults
	}
	return m.yield(nil)
}

func (m *acquisition) renew(now instant) request {
	m.phase = phaseRenew
	var next request
	m.renewal, next = renew(m.cfg, m.mine, m.self, now)
	return next
}

func (m *acquisition) renewStep(now instant, a answer) request {
	next := m.renewal.step(now, a)
	if next.op != opDone {
		return next
	}
	m.left = append(m.left, m.renewal.left...)
	m.self.Sequence = m.renewal.new.lock.Sequence
	// Never that number again, also if it failed: the object with it may yet arrive.
	m.mine.lock.Sequence = m.self.Sequence
	switch m.renewal.end {
	case renewed:
		m.mine = m.renewal.new
		m.hold(now)
		return m.again(now)
	case gone:
		return m.yield(nil)
	case unsure, running:
		return m.fault(now, m.renewal.err)
	}
	return m.again(now)
}
