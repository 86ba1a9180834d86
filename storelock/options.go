package storelock

import (
	"fmt"
	"time"
)

const (
	defaultStale   = 30 * time.Minute // the original's
	maxStale       = 24 * time.Hour   // no word of an owner makes anybody watch longer
	defaultRecheck = 10 * time.Millisecond
	longestRefresh = 10 * time.Minute // a Borg with a right clock gives us 30
)

// Options say which lock is wanted, and by whom. The zero value asks once for a
// shared one on a local store.
type Options struct {
	// Exclusive: nobody else may hold the lock. Otherwise others may hold it shared.
	Exclusive bool

	// Timeout is how long to wait for others. There is one attempt always; zero or
	// less: that one only, which takes no place in the queue.
	Timeout time.Duration

	// Stale is how long others have to see our object unchanged before they may
	// take us for dead. It is refreshed at a third of it, and given up for lost
	// at five sixths. 0: 30 minutes, as the original. All who use a store should
	// have the same; each object says what its owner has, and the longer one counts.
	Stale time.Duration

	// RecheckDelay is how long the store may take until a listing shows what was
	// stored or deleted: [SelfTest] measures it. 0: 10 ms, for a local store.
	RecheckDelay time.Duration

	// HostID overrides the name of this host in our objects, which is
	// "<host name>@<hardware address>" otherwise. A program that wants the
	// original's BORG_HOST_ID to be honoured hands it in here. "+pbs-like" is added
	// always, so that no original looks for our process among its own.
	HostID string

	// Message, Command and User tell people who we are. Empty: no message, the
	// name of the program, and the number of the user.
	Message, Command, User string

	// LeaseOnly: never conclude from a process that is missing here that an object
	// is dead, only from watching it. For machines that were resumed from copies of
	// one memory image: they have the same boot id.
	LeaseOnly bool

	// StateFile is a file outside the store in which is remembered what was seen there
	// and since when. Without it, an attempt that waits less than the stale time
	// never lives to see that a lock from another host is dead. Empty: none.
	StateFile string

	// Memory is the same for the attempts of one process: for one that tries again and again
	// instead of waiting in here. nil: none.
	Memory *Memory

	// Waiting, if not nil, is called once, when waiting begins.
	Waiting func(*LockedError)

	// Cleared, if not nil, is called for each stale object that was removed.
	Cleared func(Info)

	// Idle, if not nil, is called once, when this attempt and its guard use the backend
	// no more, so that it may be closed: after an error or Close, and after what could
	// not be deleted then has been, or would be stale by now. It must not call the guard.
	Idle func()

	test testOptions
}

// testOptions replace the world in tests.
type testOptions struct {
	clock        clock
	rules        rules
	self         *process
	dead         func(Lock) bool
	foreignStale time.Duration
	seed         uint64
}

// rules can be switched off one by one, so that the simulator can be seen to
// find what they are for. The zero value has them all on.
type rules struct {
	skipVanished bool // what vanishes before it is loaded was no lock
	oneLook      bool // one listing decides
	stampDecides bool // the writer's clock is compared with ours
	noContinuity bool // a refresh does not look for the old object
	hastyRefresh bool // a refresh deletes the old object at once
	ignoreStale  bool // what is stale is passed over, not deleted
	noRecheck    bool // it is decided at once
}

// config is what the machines work by.
type config struct {
	exclusive    bool
	timeout      time.Duration
	stale        time.Duration
	foreignStale time.Duration
	ticketStale  time.Duration
	recheck      time.Duration
	poll         time.Duration
	rules        rules
	dead         func(Lock) bool
}

func (o Options) config() (config, error) {
	c := config{
		exclusive: o.Exclusive, timeout: max(o.Timeout, 0),
		stale: orElse(o.Stale, defaultStale), recheck: orElse(o.RecheckDelay, defaultRecheck),
		foreignStale: orElse(o.test.foreignStale, defaultStale), rules: o.test.rules, dead: o.test.dead,
	}
	if c.stale < 0 || c.recheck < 0 || c.stale > maxStale {
		return c, fmt.Errorf("%w: stale time %v, recheck delay %v: from 0 to %v", ErrOptions, o.Stale, o.RecheckDelay, maxStale)
	}
	// Two refreshes have to fit in before others take over, so that one may fail,
	// each with its own recheck delay.
	if least := 30 * c.recheck; c.stale < least {
		return c, fmt.Errorf("%w: a stale time of %v is too short for a recheck delay of %v: take at least %v", ErrOptions, c.stale, c.recheck, least)
	}
	c.poll = max(c.recheck/10, time.Millisecond)
	// Tickets only order who tries. Their time is short, so that a waiter that
	// died does not keep the others from a lock that is free.
	c.ticketStale = min(max(3*time.Second, 60*c.recheck), c.stale)
	return c, nil
}

func orElse(d, zero time.Duration) time.Duration {
	if d == 0 {
		return zero
	}
	return d
}

// refreshAfter is how old our object gets before we make a new one.
func (c *config) refreshAfter() time.Duration { return min(c.stale/3, longestRefresh) }

// validFor is how old our object may be while we still take ourselves for the
// holder: a sixth of the stale time before others may see it otherwise.
func (c *config) validFor() time.Duration { return c.stale - c.stale/6 }

// doubtAfter is how old our object may be before we ask the store before a step
// that can't be taken back. The refresher is late then.
func (c *config) doubtAfter() time.Duration { return c.refreshAfter() + c.stale/6 }

// grace is how long the store may keep failing before that is a loss, also when
// the object was too old when we woke up.
func (c *config) grace() time.Duration { return c.stale / 6 }
