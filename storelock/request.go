package storelock

import "time"

// An op is what a machine wants next.
type op uint8

const (
	opList   op = iota // the keys below a prefix
	opLoad             // an object
	opStore            // an object
	opDelete           // an object
	opWait             // time
	opDone             // nothing: it is at its end, see its outcome
)

// A request is the one thing that a machine waits for.
type request struct {
	op   op
	name string // the prefix for opList
	data []byte
	wait time.Duration
}

// An answer is what came of a request.
type answer struct {
	keys []string
	data []byte
	err  error
}

// A machine turns answers into requests. It has no clock, no store and no
// goroutine of its own: the same answers at the same times make it do the same,
// and a copy of it goes on independently.
type machine interface {
	step(now instant, a answer) request
}

func list(prefix string) request { return request{op: opList, name: prefix} }

func load(name string) request { return request{op: opLoad, name: name} }

func store(o object) request { return request{op: opStore, name: o.name, data: o.data} }

func remove(name string) request { return request{op: opDelete, name: name} }

func wait(d time.Duration) request { return request{op: opWait, wait: max(d, 0)} }

// An object is one that we have stored, or are about to.
type object struct {
	name  string
	data  []byte
	lock  Lock
	began instant // when the call that stored it was made: nobody saw it earlier
}

func (o object) there() bool { return o.name != "" }

// newObject makes the next object of an owner.
func newObject(l Lock, now instant, cfg *config) object {
	l = l.at(l.Sequence+1, now.wall, cfg.stale)
	data := l.encode()
	return object{name: lockName(keyFor(data)), data: data, lock: l, began: now}
}
