package storelock

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// queue is our place among those of our kind who wait. It orders who tries, and
// never who holds: all that a lost, late or forged ticket can do is to be unfair.
//
// A ticket is told by its key alone: "t", when we came in milliseconds, "x" or
// "s" for the mode, "-", the instance, "-", and a number that a refresh counts up.
type queue struct {
	instance string
	came     int64
	sequence int64
	mine     string  // our ticket, "" if we have none
	absent   bool    // it certainly could not be stored
	old      string  // our ticket before this one, to be deleted
	tidy     string  // what is being deleted
	made     instant // when ours was stored
	ahead    int     // how many were before us at the last look
	first    bool
	blocked  bool // an exclusive lock is there
	early    bool // and we may stand ready behind it
	listed   bool // the queue was looked at since the locks were
	done     bool // the lock is ours: the ticket goes
	watch    map[string]instant
	stale    []string
	refused  map[string]bool // stale, but not to be deleted
}

func newQueue(instance string, _ *config, now instant) queue {
	return queue{instance: instance, came: now.wall.UnixMilli(), watch: map[string]instant{}, refused: map[string]bool{}}
}

var ticketForm = regexp.MustCompile(`^t([0-9a-f]{12})([xs])-([0-9a-f]{32})-([0-9a-f]{1,12})$`)

type ticket struct {
	came      int64
	exclusive bool
	instance  string
}

func parseTicket(key string) (ticket, bool) {
	parts := ticketForm.FindStringSubmatch(key)
	if parts == nil {
		return ticket{}, false
	}
	came, err := strconv.ParseInt(parts[1], 16, 64)
	return ticket{came: came, exclusive: parts[2] == "x", instance: parts[3]}, err == nil
}

func (a ticket) compare(b ticket) int {
	return cmp.Or(cmp.Compare(a.came, b.came), strings.Compare(a.instance, b.instance))
}

func (q *queue) next(exclusive bool) string {
	mode := "s"
	if exclusive {
		mode = "x"
	}
	q.sequence++
	return ticketName(fmt.Sprintf("t%012x%s-%s-%x", q.came&(1<<48-1), mode, q.instance, q.sequence))
}

// ticket is the one that has to be deleted.
func (q *queue) ticket() string {
	if q.absent {
		return ""
	}
	return q.mine
}

// look takes in a listing of the queue: who is before us, and whose ticket has
// stood there unchanged for too long.
func (q *queue) look(keys []string, cfg *config, now instant) {
	me := ticket{came: q.came & (1<<48 - 1), instance: q.instance}
	before := map[string]bool{}
	q.stale = nil
	for _, key := range keys {
		since, known := q.watch[key]
		if !known {
			q.watch[key], since = now, now
		}
		t, ok := parseTicket(key)
		switch {
		case now.watched(since) > cfg.ticketStale && (!ok || t.instance != q.instance):
			if !q.refused[ticketName(key)] {
				q.stale = append(q.stale, ticketName(key))
			}
		case ok && t.instance != q.instance && t.compare(me) < 0 && (cfg.exclusive || t.exclusive):
			before[t.instance] = true
		}
	}
	there := make(map[string]bool, len(keys))
	for _, key := range keys {
		there[key] = true
	}
	maps.DeleteFunc(q.watch, func(key string, _ instant) bool { return !there[key] })
	q.ahead = len(before)
	q.first = len(before) == 0
}

// askQueue keeps our ticket alive, if we have or need one, and looks who is first.
func (m *acquisition) askQueue(now instant) request {
	q := &m.queue
	q.listed = false
	if q.mine == "" && q.blocked || q.mine != "" && now.watched(q.made) > m.cfg.ticketStale/3 {
		return m.takeTicket(now)
	}
	return m.listQueue()
}

func (m *acquisition) takeTicket(now instant) request {
	q := &m.queue
	m.phase = phaseTicket
	q.old, q.mine, q.made, q.absent = q.ticket(), q.next(m.cfg.exclusive), now, false
	l := m.self.at(m.self.Sequence, now.wall, m.cfg.stale)
	return request{op: opStore, name: q.mine, data: l.encode()}
}

func (m *acquisition) listQueue() request {
	m.phase = phaseQueue
	return list(queuePrefix)
}

// queueStep goes on after any answer about the queue. Errors are passed over: what
// they can cost is our place.
func (m *acquisition) queueStep(now instant, a answer) request {
	q := &m.queue
	switch m.phase {
	case phaseTicket:
		if q.absent = a.err != nil && !mayArrive(a.err); mayArrive(a.err) {
			m.left = append(m.left, q.mine)
		}
	case phaseQueue:
		was := q.ahead
		q.listed, q.first, q.ahead = true, true, 0
		if a.err == nil {
			q.look(a.keys, m.cfg, now)
		}
		if q.ahead != was {
			m.progress = now
		}
	case phaseTidy:
		if a.err != nil && !isNotFound(a.err) {
			m.refused()
		}
	default:
	}
	return m.queueNext(now)
}

// refused is for a ticket that could not be deleted: another one's is left to others.
func (m *acquisition) refused() {
	q := &m.queue
	if strings.Contains(q.tidy, q.instance) {
		m.left = append(m.left, q.tidy)
	} else {
		q.refused[q.tidy] = true
	}
}

func (m *acquisition) queueNext(now instant) request {
	q := &m.queue
	switch {
	case q.old != "":
		name := q.old
		q.old = ""
		return m.tidy(name)
	case q.done:
		return request{op: opDone}
	case m.mine.there():
		return m.pause(now, 0)
	case len(q.stale) > 0:
		name := q.stale[0]
		q.stale = q.stale[1:]
		return m.tidy(name)
	case !q.listed:
		return m.listQueue()
	case q.first && (!q.blocked || q.early):
		return m.create(now)
	case q.mine == "":
		return m.takeTicket(now)
	}
	return m.pause(now, 0)
}

// leaveQueue ends the acquisition: the lock is held.
func (m *acquisition) leaveQueue() request {
	q := &m.queue
	q.done = true
	q.old, q.mine = q.ticket(), ""
	m.err = nil
	if q.old == "" {
		return request{op: opDone}
	}
	name := q.old
	q.old = ""
	return m.tidy(name)
}

func (m *acquisition) tidy(name string) request {
	m.phase, m.queue.tidy = phaseTidy, name
	return remove(name)
}

// keepPlace pauses with our candidate there. Our ticket must not go stale
// meanwhile: the next in the queue would take itself for the first.
func (m *acquisition) keepPlace(now instant) request {
	q := &m.queue
	if m.cfg.timeout > 0 && (q.mine == "" || now.watched(q.made) > m.cfg.ticketStale/3) {
		return m.takeTicket(now)
	}
	return m.pause(now, 0)
}
