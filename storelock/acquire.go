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
	maxFaults = 3    // so often may the store fail one after the other
	maxLooks  = 1000 // so often a listing is made again at once because it was overtaken
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
	renewal  renewal
	keys     []string        // of the look that is going on
	load     []string        // its keys that are still to be loaded
	before   []string        // the keys of the look before, if that could decide
	known    map[string]bool // instances of the exclusive locks that we queue behind
	watch    watch
	stuck    map[string]error // stale, but not to be deleted
	clear    []string
	cleared  []*seen // what was deleted because it was stale
	looks    int
	faults   int
	looked   instant // when the last look began: what looking costs
	progress instant // when something last changed: how fast it is worth looking again

	broken error // what the store said when it failed last; nil after it worked
	denied int   // so often in a row our candidate could not be stored

	queue queue
	left  []string // names that may be there, or appear later
	leave []string // names still to be deleted
	cause error    // why we leave
	err   error    // how it ended; nil: held
}

func newAcquisition(cfg *config, self Lock, seed uint64, watched watch, now instant) (*acquisition, request) {
	m := &acquisition{
		cfg: cfg, self: self, rng: *rand.NewPCG(seed, 0), began: now, looked: now, progress: now, watch: watched, stuck: map[string]error{},
		queue: newQueue(self.Instance, cfg, now),
	}
	return m, m.look()
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
func (m *acquisition) look() request {
	m.phase = phaseList
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
			return m.again(now)
		}
		m.keys = slices.DeleteFunc(slices.Clone(m.keys), func(k string) bool { return k == key })
		return m.loadNext(now)
	}
	m.watch.loaded(key, a.data, a.err, now)
	return m.loadNext(now)
}

// again looks again at once, because what was seen is no snapshot.
func (m *acquisition) again(now instant) request {
	m.before = nil
	if m.looks++; m.looks%maxLooks == 0 {
		return m.pause(now, m.cfg.poll)
	}
	return m.look()
}

// judge has a whole listing with all that is in it.
func (m *acquisition) judge(now instant) request {
	m.faults = 0
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
		s := m.watch[key]
		switch {
		case s == nil || s.err == nil && s.loaded && s.lock.Instance == m.self.Instance:
		case m.cfg.rules.ignoreStale && s.stale(m.cfg, now):
		default:
			others = append(others, s)
		}
	}
	return others
}

// stale are the keys to be deleted: a stale object is never passed over. Its
// owner may wake up and find it there, and would go on.
func (m *acquisition) stale(now instant) (keys []string) {
	for _, key := range m.keys {
		s := m.watch[key]
		if s == nil || lockName(key) == m.mine.name || m.stuck[key] != nil {
			continue
		}
		orphan := s.err == nil && s.loaded && s.lock.Instance == m.self.Instance
		if orphan || !m.cfg.rules.ignoreStale && s.stale(m.cfg, now) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (m *acquisition) didClear(now instant, a answer) request {
	key := m.clear[0]
	m.clear = m.clear[1:]
	switch {
	case a.err != nil && !isNotFound(a.err):
		m.stuck[key] = a.err
	case a.err == nil && m.watch[key] != nil && m.watch[key].lock.Instance != m.self.Instance:
		m.cleared = append(m.cleared, m.watch[key])
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

// restless is how long the deciding look has to wait yet.
func (m *acquisition) restless(now instant) time.Duration {
	if !m.waiting {
		return 0
	}
	return max(m.cfg.recheck-now.watched(m.quiet), 0)
}

// yield takes our candidate away and tries again later.
func (m *acquisition) yield(why error) request {
	m.phase, m.before = phaseYield, nil
	if why != nil {
		m.left = append(m.left, m.mine.name)
	}
	return remove(m.mine.name)
}

func (m *acquisition) yielded(now instant, a answer) request {
	if a.err != nil && !isNotFound(a.err) {
		m.left = append(m.left, m.mine.name)
	}
	m.mine = object{}
	if m.denied >= maxFaults {
		return m.quit(failed(m.broken))
	}
	// Another one has most likely done the same: not again at the same moment.
	return m.pause(now, time.Duration(m.random(int64(8*(m.cfg.poll+m.cfg.recheck)))))
}

func (m *acquisition) random(n int64) int64 { return rand.New(&m.rng).Int64N(max(n, 1)) }

// pause waits until it is worth looking again, or leaves if the time is over.
// Without a duration it looks more often while things move.
func (m *acquisition) pause(now instant, d time.Duration) request {
	over := m.cfg.timeout - now.watched(m.began)
	if over <= 0 {
		return m.giveUp(now)
	}
	if d <= 0 {
		d = m.interval(now)
	}
	return m.pauseFor(min(d, over))
}

// interval grows with the time for which nothing has changed, so that who waits for
// hours asks seldom and who waits for milliseconds asks often.
func (m *acquisition) interval(now instant) time.Duration {
	// On a slow store, or a busy machine, looking must not be most of what is done.
	cost := now.watched(m.looked)
	least := max(m.cfg.poll, cost) * time.Duration(1+m.queue.ahead)
	d := min(max(now.watched(m.progress)/16, least), max(time.Second, 2*m.cfg.recheck), m.cfg.ticketStale/4)
	return d*3/4 + time.Duration(m.random(int64(d/2)))
}

func (m *acquisition) pauseFor(d time.Duration) request {
	m.phase = phasePause
	return wait(d)
}

func (m *acquisition) paused(now instant) request {
	m.before, m.looked = nil, now
	return m.look()
}

// fault is for a store that failed: it may work the next time.
func (m *acquisition) fault(now instant, err error) request {
	m.before, m.broken = nil, err
	if m.faults++; m.faults >= maxFaults {
		return m.quit(failed(err))
	}
	return m.pauseFor(m.interval(now))
}
