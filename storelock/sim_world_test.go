package storelock

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// The simulator runs clients against a store of its own, one step at a time:
// issuing a request, its effect, and its answer are different steps, and between
// them anybody else's may come. Nothing in it is concurrent, so a seed tells all.

// simRecord is what has become of one name.
type simRecord struct {
	data  []byte
	there bool
	shown bool          // what listings say until the moment below
	until time.Duration // from then on they say the truth
	by    int           // who changed it last, and sees that at once: a cache of its own
}

type simStore struct {
	now     time.Duration
	objects map[string]*simRecord
	lag     time.Duration
}

func (s *simStore) change(by int, name string, data []byte, there bool, rng *rand.Rand) {
	r := s.objects[name]
	if r == nil {
		r = &simRecord{}
		s.objects[name] = r
	}
	shown := s.shows(r, -1)
	r.data, r.there, r.shown, r.by = data, there, shown, by
	r.until = s.now
	if s.lag > 0 {
		r.until += time.Duration(rng.Int64N(int64(s.lag)))
	}
}

func (s *simStore) shows(r *simRecord, to int) bool {
	if s.now < r.until && to != r.by {
		return r.shown
	}
	return r.there
}

// keys lists those names of a prefix that pick says.
func (s *simStore) keys(to int, prefix string, pick func(string) bool) (keys []string) {
	for name, r := range s.objects {
		if key, ok := strings.CutPrefix(name, prefix+"/"); ok && s.shows(r, to) && pick(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (s *simStore) tidy() {
	maps.DeleteFunc(s.objects, func(_ string, r *simRecord) bool { return !r.there && s.now >= r.until })
}

type simState uint8

const (
	simIdle simState = iota
	simAcquiring
	simHolding
	simRenewing // and holding
	simReleasing
)

type simClient struct {
	id        int
	cfg       config
	proc      process
	host      int
	skew      time.Duration // of its wall clock
	rate      float64       // of its monotonic clock
	lost      time.Duration // how much its monotonic clock has missed
	asleep    time.Duration // until when it is suspended
	vm        bool          // its suspends are pauses of a virtual machine
	bootLost  time.Duration
	state     simState
	acq       *acquisition
	renewal   renewal
	keep      keeping
	mine      object
	self      Lock
	req       request
	effected  bool
	answer    answer
	half      []string // of a listing that is under way
	halfway   bool
	wakes     time.Duration // of its own clock, for opWait
	holdUntil time.Duration
	held      int
	lostLocks int
}

type simOptions struct {
	clients, steps int
	seed           uint64
	rules          rules
	lag            time.Duration // how much listings are behind at most
	recheck        time.Duration
	skews          bool // wall clocks are set by hours
	suspends       bool
	crashes        bool
	lostAnswers    bool
	slow           bool // effects and answers take up to a stale time
	sharedOnly     int  // so many clients only ever want shared locks
}

const simStale = 3 * time.Second

type sim struct {
	simOptions
	rng     *rand.Rand
	store   simStore
	clients []*simClient
	alive   map[int64]bool
	nextPID int64
	trace   []string
	traced  bool
	step    int
	late    []lateEffect
	acts    int
}

// A lateEffect is a write of which the client has long given up hope.
type lateEffect struct {
	at   time.Duration
	name string
	data []byte
}

func newSim(o simOptions) *sim {
	s := &sim{simOptions: o, rng: rand.New(rand.NewPCG(o.seed, 1)), alive: map[int64]bool{}, nextPID: 100}
	s.store = simStore{objects: map[string]*simRecord{}, lag: o.lag}
	for i := range o.clients {
		s.clients = append(s.clients, s.newClient(i))
	}
	return s
}

func (s *sim) newClient(i int) *simClient {
	s.nextPID++
	s.alive[s.nextPID] = true
	c := &simClient{id: i, host: i % 2, rate: 1, vm: s.rng.IntN(2) == 0}
	if s.skews {
		c.skew = time.Duration(s.rng.Int64N(int64(4*time.Hour))) - 2*time.Hour
		c.rate = 0.99 + 0.02*s.rng.Float64()
	}
	c.proc = process{pid: s.nextPID, started: s.nextPID, bootID: fmt.Sprint("boot", c.host), pidSpace: "p", timeSpace: "t"}
	return c
}

// begin starts another acquisition.
func (s *sim) begin(c *simClient) {
	o := Options{
		Exclusive: s.rng.IntN(2) == 0 && c.id >= s.sharedOnly, Stale: simStale, RecheckDelay: s.recheck,
		Timeout: []time.Duration{0, time.Second, time.Minute}[s.rng.IntN(3)],
	}
	o.test.rules = s.rules
	o.test.foreignStale = simStale
	cfg, err := o.config()
	if err != nil {
		panic(err)
	}
	cfg.dead = func(l Lock) bool { return l.BootID == c.proc.bootID && !s.alive[l.PID] }
	c.cfg = cfg
	c.self = Lock{
		Exclusive: o.Exclusive, HostID: "h", PID: c.proc.pid, Instance: fmt.Sprintf("%016x%016x", s.rng.Uint64(), s.rng.Uint64()),
		BootID: c.proc.bootID, PIDSpace: "p", TimeSpace: "t", Started: c.proc.started,
	}
	c.acq, c.req = newAcquisition(&c.cfg, c.self, s.rng.Uint64(), watch{}, s.clock(c))
	c.state = simAcquiring
	s.issue(c)
}

func (s *sim) clock(c *simClient) instant {
	mono := time.Duration(float64(s.store.now)*c.rate) - c.lost
	return instant{mono: mono, boot: time.Duration(float64(s.store.now)*c.rate) - c.bootLost, wall: time.Unix(1_000_000_000, 0).Add(s.store.now + c.skew)}
}

func (s *sim) issue(c *simClient) {
	c.effected, c.halfway, c.half = false, false, nil
	if c.req.op == opWait {
		c.wakes = s.clock(c).mono + c.req.wait
	}
}

var (
	errSimLost    = errors.New("no answer")
	errSimRefused = errors.New("refused")
)

// effect lets a request happen.
func (s *sim) effect(c *simClient) {
	if s.lostAnswers && c.req.op != opWait && s.rng.IntN(50) == 0 {
		s.loseAnswer(c)
		return
	}
	c.answer = answer{}
	switch c.req.op {
	case opList:
		if !s.listHalf(c) {
			return
		}
	case opLoad:
		if r := s.store.objects[c.req.name]; r != nil && r.there {
			c.answer.data = r.data
		} else {
			c.answer.err = ErrNotFound
		}
	case opStore:
		s.store.change(c.id, c.req.name, c.req.data, true, s.rng)
	case opDelete:
		if r := s.store.objects[c.req.name]; r == nil || !r.there {
			c.answer.err = ErrNotFound
		} else {
			s.store.change(c.id, c.req.name, nil, false, s.rng)
		}
	case opWait, opDone:
	}
	c.effected = true
}

func (s *sim) loseAnswer(c *simClient) {
	c.effected, c.answer = true, answer{err: errSimRefused}
	switch s.rng.IntN(3) {
	case 0: // and nothing has happened
	case 1: // it has
		c.answer.err = errSimLost
		s.apply(c.id, c.req.op, c.req.name, c.req.data)
	case 2: // it will
		c.answer.err = errSimLost
		if c.req.op == opStore {
			s.late = append(s.late, lateEffect{s.store.now + time.Duration(s.rng.Int64N(int64(simStale))), c.req.name, c.req.data})
		}
	}
}

func (s *sim) apply(by int, o op, name string, data []byte) {
	if o == opStore || o == opDelete {
		s.store.change(by, name, data, o == opStore, s.rng)
	}
}

// listHalf reads one half of a directory, as several system calls do; it says
// whether that was the second one.
func (s *sim) listHalf(c *simClient) bool {
	half := func(second bool) []string {
		return s.store.keys(c.id, c.req.name, func(key string) bool { return (key[len(key)-1] > '7') == second })
	}
	if !c.halfway {
		c.half, c.halfway = half(false), true
		return false
	}
	c.answer.keys = append(c.half, half(true)...)
	return true
}
