package flock

import (
	"slices"
	"sync"
)

// held keeps every lock, and with it the *os.File that it may have, reachable
// until it is closed. Without it a guard that the program has forgotten would be
// collected as garbage, its file closed by the runtime, and the lock gone minutes
// later in the middle of the work that it protects. This way it stays locked, and
// shows.
var held table //nolint:gochecknoglobals // a lock that nothing refers to would vanish

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

func (t *table) remove(l *lock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.locks, l)
}
