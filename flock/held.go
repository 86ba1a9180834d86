package flock

import (
	"slices"
	"sync"
)

// held keeps every lock, and with it the open file, reachable until it is closed.
// Without it a guard that the program has forgotten would be collected as
// garbage, its file closed by the runtime, and the lock gone minutes later in
// the middle of the work that it protects. This way it stays locked, and shows.
var held table

type table struct {
	mu    sync.Mutex // protects locks
	locks map[*lock]struct{}
}

// Held returns the paths of all guards of this process that are not closed, in
// order, one for each guard: to look for forgotten ones.
func Held() []string {
	held.mu.Lock()
	defer held.mu.Unlock()
	paths := make([]string, 0, len(held.locks))
	for l := range held.locks {
		paths = append(paths, l.ref.String())
	}
	slices.Sort(paths)
	return paths
}

func (t *table) add(l *lock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locks == nil {
		t.locks = make(map[*lock]struct{})
	}
	t.locks[l] = struct{}{}
}

// remove tells whether l was there: of several calls exactly one gets true.
func (t *table) remove(l *lock) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.locks[l]
	delete(t.locks, l)
	return ok
}

func (t *table) has(l *lock) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.locks[l]
	return ok
}
