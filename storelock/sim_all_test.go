package storelock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
)

// This file goes through all interleavings of a few clients, each call of the
// store being one step. Everybody acquires, renews once, gives back. Time is each
// client's own and goes by only while it waits, since on a store without lag no
// schedule may depend on how long anything takes.

type allClient struct {
	acq     acquisition
	renewal renewal
	state   simState
	req     request
	mono    time.Duration
	mine    object
	renewed int
	dead    bool
	pid     int64
}

type allState struct {
	objects  map[string][]byte
	clients  []allClient
	crashes  int // that may yet come
	renewals int
}

func (c *allClient) now() instant {
	return instant{mono: c.mono, boot: c.mono, wall: time.Unix(1_000_000_000, 0).Add(c.mono)}
}

func (s *allState) clone() *allState {
	n := &allState{objects: maps.Clone(s.objects), clients: slices.Clone(s.clients), crashes: s.crashes, renewals: s.renewals}
	for i := range n.clients {
		n.clients[i].acq = n.clients[i].acq.copy()
	}
	return n
}

// copy is an acquisition that goes on independently.
func (m acquisition) copy() acquisition {
	w := watch{}
	for key, s := range m.watch {
		c := *s
		w[key] = &c
	}
	m.watch, m.stuck, m.known = w, maps.Clone(m.stuck), maps.Clone(m.known)
	m.queue.watch, m.queue.refused = maps.Clone(m.queue.watch), maps.Clone(m.queue.refused)
	for _, s := range []*[]string{&m.keys, &m.load, &m.before, &m.clear, &m.left, &m.leave, &m.queue.stale} {
		*s = slices.Clone(*s)
	}
	return m
}

// sum tells states apart by everything that decides what comes next.
func (s *allState) sum() uint64 {
	var b strings.Builder
	fmt.Fprint(&b, slices.Sorted(maps.Keys(s.objects)), s.crashes)
	for i := range s.clients {
		c := &s.clients[i]
		m := &c.acq
		fmt.Fprint(&b, "|", c.state, c.dead, c.renewed, c.mono, c.mine.name, c.req.op, c.req.name, c.renewal.phase, c.renewal.new.name)
		fmt.Fprint(&b, m.phase, m.mine.name, m.keys, m.load, m.before, m.clear, m.leave, m.left, m.quiet.mono, m.asked.mono, m.faults, m.denied, m.vanishings, m.tried, m.known)
		fmt.Fprint(&b, m.queue.mine, m.queue.old, m.queue.stale, m.queue.first, m.queue.listed, m.queue.blocked, m.queue.early, m.queue.sequence)
	}
	return xxhash.Sum64String(b.String())
}

// next makes one step of a client, and says false if it has none.
func (s *allState) next(i int, configs []*config) bool {
	c := &s.clients[i]
	if c.dead || c.state == simIdle {
		return false
	}
	a := answer{}
	switch c.req.op {
	case opList:
		for name := range s.objects {
			if key, ok := strings.CutPrefix(name, c.req.name+"/"); ok {
				a.keys = append(a.keys, key)
			}
		}
	case opLoad:
		data, ok := s.objects[c.req.name]
		if a.data = data; !ok {
			a.err = ErrNotFound
		}
	case opStore:
		s.objects[c.req.name] = c.req.data
	case opDelete:
		if _, ok := s.objects[c.req.name]; !ok {
			a.err = ErrNotFound
		}
		delete(s.objects, c.req.name)
	case opWait:
		c.mono += c.req.wait
	case opDone:
	}
	s.deliver(c, a, configs[i])
	return true
}

func (s *allState) deliver(c *allClient, a answer, cfg *config) {
	switch c.state {
	case simAcquiring:
		c.req = c.acq.step(c.now(), a)
		if c.req.op != opDone {
			return
		}
		c.state = simIdle
		if c.acq.err == nil {
			c.state, c.mine = simRenewing, c.acq.mine
			c.renewal, c.req = renew(cfg, c.mine, c.mine.lock, c.now())
		}
	case simRenewing:
		c.req = c.renewal.step(c.now(), a)
		if c.req.op == opDone {
			if c.renewal.end == renewed {
				c.mine = c.renewal.new
			}
			if c.renewed++; c.renewed < s.renewals {
				c.renewal, c.req = renew(cfg, c.mine, c.mine.lock, c.now())
				return
			}
			c.state, c.req = simReleasing, remove(c.mine.name)
		}
	case simReleasing:
		c.state = simIdle
	case simIdle, simHolding:
	}
}

func (s *allState) violated() bool {
	for i := range s.clients {
		for j := range i {
			a, b := &s.clients[i], &s.clients[j]
			if a.state == simRenewing && b.state == simRenewing && !a.dead && !b.dead && (a.mine.lock.Exclusive || b.mine.lock.Exclusive) {
				return true
			}
		}
	}
	return false
}

type allOptions struct {
	modes    string // "xxs": two exclusive ones and a shared one
	timeout  time.Duration
	crashes  int
	rules    rules
	renewals int
	most     int // states
}

// explore returns how many states there are, whether that is all of them, and
// whether a rule was broken.
func explore(o allOptions) (states int, all, broken bool) {
	start := &allState{objects: map[string][]byte{}, crashes: o.crashes, renewals: max(o.renewals, 1)}
	deadPIDs := map[int64]bool{}
	var configs []*config
	for i, mode := range o.modes {
		opts := Options{Exclusive: mode == 'x', Timeout: o.timeout}
		opts.test.rules = o.rules
		cfg, _ := opts.config()
		cfg.dead = func(l Lock) bool { return deadPIDs[l.PID] }
		configs = append(configs, &cfg)
		c := allClient{state: simAcquiring, pid: int64(i + 1)}
		self := Lock{Exclusive: mode == 'x', HostID: "h", PID: c.pid, Instance: strings.Repeat(fmt.Sprint(i), 32)}
		acq, req := newAcquisition(&cfg, self, uint64(i), watch{}, c.now())
		c.acq, c.req = *acq, req
		start.clients = append(start.clients, c)
	}
	seen := map[uint64]bool{start.sum(): true}
	for stack := []*allState{start}; len(stack) > 0; {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for i := range s.clients {
			for _, crash := range []bool{false, true} {
				n := s.clone()
				clear(deadPIDs)
				for _, c := range n.clients {
					deadPIDs[c.pid] = c.dead
				}
				if crash && (n.crashes == 0 || n.clients[i].dead || n.clients[i].state == simIdle) {
					continue
				}
				if crash {
					n.crashes--
					n.clients[i].dead = true
				} else if !n.next(i, configs) {
					continue
				}
				if n.violated() {
					return len(seen), false, true
				}
				if sum := n.sum(); !seen[sum] {
					seen[sum] = true
					stack = append(stack, n)
				}
			}
		}
		if len(seen) >= o.most {
			return len(seen), false, false
		}
	}
	return len(seen), true, false
}

func TestNoExclusiveHolderIsBesideAnotherInAnyInterleaving(t *testing.T) {
	t.Parallel()
	most := 10_000
	if *simSteps > 0 {
		most = 500_000
	}
	if testing.Short() {
		most = 1_500
	}
	for _, o := range []allOptions{
		{modes: "xx"},
		{modes: "xs"},
		{modes: "xx", timeout: 40 * time.Millisecond},
		{modes: "xs", timeout: 40 * time.Millisecond},
		{modes: "xx", crashes: 1},
		{modes: "xs", crashes: 1},
		{modes: "xxx"},
		{modes: "xxs"},
		{modes: "xss"},
		{modes: "xxx", crashes: 1},
		{modes: "xss", crashes: 1},
		{modes: "xxs", timeout: 25 * time.Millisecond},
	} {
		o.most = most
		states, all, broken := explore(o)
		t.Logf("%s, timeout %v, %d crashes: %d states, all: %v", o.modes, o.timeout, o.crashes, states, all)
		if broken {
			t.Errorf("%+v: an exclusive holder beside another", o)
		}
	}
}

func TestExplorerFindsTheHoles(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]allOptions{
		"a lock that vanishes before it is loaded is passed over": {modes: "xs", renewals: 2, rules: rules{skipVanished: true, oneLook: true}},
	} {
		o.most = 1_000_000
		if states, _, broken := explore(o); !broken {
			t.Errorf("%s: not found in %d states", name, states)
		} else {
			t.Logf("%s: found after %d states", name, states)
		}
	}
}
