package storelock

import (
	"math/rand/v2"
	"time"
)

// yield takes our candidate away and tries again later.
func (m *acquisition) yield(why error) request {
	m.phase, m.before = phaseYield, nil
	if mayArrive(why) {
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
	m.tried = true
	if m.isOver(now) {
		return m.giveUp(now)
	}
	if d <= 0 {
		d = m.interval(now)
	}
	return m.pauseFor(min(d, m.cfg.timeout-now.watched(m.began)))
}

func (m *acquisition) isOver(now instant) bool { return now.watched(m.began) >= m.cfg.timeout }

// interval grows with the time for which nothing has changed, so that who waits for
// hours asks seldom and who waits for milliseconds asks often.
func (m *acquisition) interval(now instant) time.Duration {
	// On a slow store, or a busy machine, looking must not be most of what is done.
	cost := now.watched(m.looked)
	least := max(m.cfg.poll, cost)
	if ahead := time.Duration(m.queue.ahead); ahead > 1 {
		// Each of them takes a recheck delay at least, but for the first, who may stand ready. The
		// next one has to see at once that it is the first, for its own delay begins then.
		least = max(ahead*least, (ahead-1)*m.cfg.recheck/2)
	}
	d := min(max(now.watched(m.progress)/16, least), max(time.Second, 2*m.cfg.recheck), m.cfg.ticketStale/4)
	return d*3/4 + time.Duration(m.random(int64(d/2)))
}

func (m *acquisition) pauseFor(d time.Duration) request {
	m.phase = phasePause
	return wait(d)
}

func (m *acquisition) paused(now instant) request {
	m.before, m.looked = nil, now
	return m.look(now)
}

// fault is for a store that failed: it may work the next time.
func (m *acquisition) fault(now instant, err error) request {
	m.before, m.broken = nil, err
	if m.faults++; m.faults >= maxFaults {
		return m.quit(failed(err))
	}
	return m.pauseFor(max(m.interval(now), time.Duration(m.faults)*m.cfg.recheck))
}
