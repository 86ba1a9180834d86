package storelock

import (
	"math/rand/v2"
	"slices"
	"time"
)

type phase uint8

const (
	phaseList   phase = iota // of locks/
	phaseLoad                // what the listing named
	phaseClear               // stale objects are being deleted
	phaseTicket              // our ticket is being stored
	phaseTidy                // an old ticket of ours, or a stale one, is being deleted
	phaseQueue               // of queue/
	phaseCreate              // our candidate is being stored
	phasePause               // then another look
	phaseRenew               // our candidate has become old while it waits
	phaseYield               // our candidate is being deleted, then a pause
	phaseLeave               // everything of ours is being deleted
)

const (
	maxFaults = 3  // so often may the store fail one after the other
	maxLooks  = 10 // so often a listing is made again at once because it was overtaken
	maxGhosts = 20 // so often an object may be listed and not be there
)

// acquisition is one attempt to have the lock, from the first look to having it
// or having left nothing behind. See docs/design/storelock.md for why it is safe.
type acquisition struct {
	cfg   *config
	rng   rand.PCG // a value, so that a copy goes on by itself
	self  Lock
	phase phase

	began    instant
	mine     object  // our candidate, then our lock
	quiet    instant // the deciding look must begin after it
	waiting  bool    // quiet is to be waited for
	asked    instant // when the listing that is looked at was asked for
	renewal  renewal
	keys     []string           // of the look that is going on
	load     []string           // its keys that are still to be loaded
	before   []string           // the keys of the look before, if that could decide
	known    map[candidate]bool // the exclusive locks that we queue behind
	watch    watch
	stuck    map[string]stuck // stale, but not to be deleted
	clear    []string
	cleared  []cleared // what was deleted because it was stale
	looks    int       // in a row that were overtaken
	tried    bool      // there was one whole attempt
	faults   int
	looked   instant // when the last look began: what looking costs
	progress instant // when something last changed: how fast it is worth looking again

	broken error // what the store said when it failed last; nil after it worked
	denied int   // so often in a row our candidate could not be stored

	vanishings int // so often in a row it was stored and not listed

	queue queue
	left  []string // names that may be there, or appear later
	leave []string // names still to be deleted
	cause error    // why we leave
	err   error    // how it ended; nil: held
}

func newAcquisition(cfg *config, self Lock, seed uint64, watched watch, now instant) (*acquisition, request) {
	self.Since = now.wall // who waits does so since then
	m := &acquisition{
		cfg: cfg, self: self, rng: *rand.NewPCG(seed, 0), began: now, looked: now, progress: now, watch: watched, stuck: map[string]stuck{},
		queue: newQueue(self.Instance, cfg, now),
	}
	return m, m.look(now)
}

// stuck is a stale object that could not be deleted.
type stuck struct {
	err   error
	since instant
}

// cleared is a stale object that was deleted.
type cleared struct {
	key string
	was *seen
}

func (m *acquisition) step(now instant, a answer) request {
	if m.cause != nil && m.phase != phaseLeave {
		return m.abandon(a)
	}
	switch m.phase {
	case phaseList:
		return m.listed(now, a)
	case phaseLoad:
		return m.loaded(now, a)
	case phaseClear:
		return m.didClear(now, a)
	case phaseTicket, phaseTidy, phaseQueue:
		return m.queueStep(now, a)
	case phaseCreate:
		return m.created(now, a)
	case phasePause:
		return m.paused(now)
	case phaseRenew:
		return m.renewStep(now, a)
	case phaseYield:
		return m.yielded(now, a)
	case phaseLeave:
		return m.didLeave(a)
	}
	return request{op: opDone}
}

// look lists the locks anew.
func (m *acquisition) look(now instant) request {
	m.phase, m.asked = phaseList, now
	return list(locksPrefix)
}

func (m *acquisition) listed(now instant, a answer) request {
	if a.err != nil {
		return m.fault(now, a.err)
	}
	m.keys = slices.Sorted(slices.Values(a.keys))
	m.watch.listed(m.keys, now)
	m.load = m.watch.unknown(m.keys)
	return m.loadNext(now)
}

func (m *acquisition) loadNext(now instant) request {
	if len(m.load) == 0 {
		return m.judge(now)
	}
	m.phase = phaseLoad
	return load(lockName(m.load[0]))
}

func (m *acquisition) loaded(now instant, a answer) request {
	key := m.load[0]
	m.load = m.load[1:]
	if isNotFound(a.err) {
		// It may have been renamed by a refresh: then the new name is one that
		// this listing has not got.
		if !m.cfg.rules.skipVanished {
			return m.vanished(now, key, a.err)
		}
		m.keys = slices.DeleteFunc(slices.Clone(m.keys), func(k string) bool { return k == key })
		return m.loadNext(now)
	}
	m.watch.loaded(key, a.data, a.err, now)
	return m.loadNext(now)
}

// vanished looks again. What a store keeps listing and never has is no lock that is
// being renamed: it counts as an object that can't be read, so that it is named,
// and goes stale.
func (m *acquisition) vanished(now instant, key string, err error) request {
	s := m.watch[key]
	if s == nil {
		return m.again(now)
	}
	if s.missing++; s.missing == 1 {
		s.missed = now
	}
	if s.missing < maxGhosts || now.watched(s.missed) < 2*m.cfg.recheck {
		return m.again(now)
	}
	m.watch.loaded(key, nil, err, now)
	return m.loadNext(now)
}

// again looks again, because what was seen is no snapshot: at once if that does
// not happen too often.
func (m *acquisition) again(now instant) request {
	m.before = nil
	m.looks++
	m.tried = m.tried || m.looks > 10*maxLooks
	switch {
	case m.tried && m.isOver(now):
		return m.giveUp(now)
	case m.looks > maxLooks:
		return m.pauseFor(m.cfg.poll)
	}
	return m.look(now)
}

// judge has a whole listing with all that is in it.
func (m *acquisition) judge(now instant) request {
	m.faults, m.looks = 0, 0
	if m.denied == 0 {
		m.broken = nil
	}
	if m.clear = m.stale(now); len(m.clear) > 0 {
		m.phase = phaseClear
		return remove(lockName(m.clear[0]))
	}
	others := m.others(now)
	if m.mine.there() {
		return m.decide(now, others)
	}
	return m.enter(now, others)
}

// others are the objects that count: not ours, which includes objects of ours that
// were given up and came back.
func (m *acquisition) others(now instant) (others []*seen) {
	for _, key := range m.keys {
		if s := m.watch[key]; m.counts(s, now) {
			others = append(others, s)
		}
	}
	return others
}

func (m *acquisition) counts(s *seen, now instant) bool {
	ours := s == nil || s.err == nil && s.loaded && s.lock.Instance == m.self.Instance
	return !ours && (!m.cfg.rules.ignoreStale || !s.stale(m.cfg, now))
}

// stale are the keys to be deleted: a stale object is never passed over. Its
// owner may wake up and find it there, and would go on.
func (m *acquisition) stale(now instant) (keys []string) {
	for _, key := range m.keys {
		s := m.watch[key]
		if s == nil || lockName(key) == m.mine.name || m.isStuck(key, now) {
			continue
		}
		orphan := s.err == nil && s.loaded && s.lock.Instance == m.self.Instance
		if orphan || !m.cfg.rules.ignoreStale && s.stale(m.cfg, now) {
			keys = append(keys, key)
		}
	}
	return keys
}

// isStuck says whether an object could not be deleted a short time ago. It is
// tried again: what refused may have been a moment's fault.
func (m *acquisition) isStuck(key string, now instant) bool {
	s, ok := m.stuck[key]
	return ok && now.watched(s.since) < m.cfg.stale/60
}

func (m *acquisition) didClear(now instant, a answer) request {
	key := m.clear[0]
	m.clear = m.clear[1:]
	was := m.watch[key]
	delete(m.stuck, key)
	switch {
	case a.err != nil && (!isNotFound(a.err) || was != nil && isNotFound(was.err)): // the latter: listed, and never there
		m.stuck[key] = stuck{a.err, now}
	case a.err == nil && was != nil && was.lock.Instance != m.self.Instance:
		m.cleared = append(m.cleared, cleared{key, was})
	}
	if len(m.clear) > 0 {
		return remove(lockName(m.clear[0]))
	}
	// Its owner may just have made a new one that listings don't show yet.
	m.hold(now)
	m.progress = now
	return m.again(now)
}

// hold puts the deciding look off until any listing shows what is there now.
func (m *acquisition) hold(now instant) {
	m.waiting = !m.cfg.rules.noRecheck
	m.quiet = now
	m.before = nil
}

// restless is how long a deciding look has to wait yet that is asked for at a moment.
func (m *acquisition) restless(asked instant) time.Duration {
	if !m.waiting {
		return 0
	}
	return max(m.cfg.recheck-asked.watched(m.quiet), 0)
}
