package storelock

import "sync"

// uses counts who talks to the store, or may yet: the attempt or its guard, and what goes on in the background.
// When the last one is done the backend may be closed.
type uses struct {
	mu   sync.Mutex
	n    int
	idle func() // nil: nobody wants to know
}

func (u *uses) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n++
}

func (u *uses) end() {
	u.mu.Lock()
	u.n--
	over := u.n == 0
	u.mu.Unlock()
	if over && u.idle != nil {
		u.idle()
	}
}
