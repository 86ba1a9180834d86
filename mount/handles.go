package mount

import "sync"

// handles are the open files and directories. When a mount ends, the kernel does not close those of
// programs that are cut off.
type handles struct {
	mu   sync.Mutex
	open map[*handle]struct{}
}

// handle is the part that all open files and directories have: the snapshot stays locked.
type handle struct {
	all   *handles
	lease *lease // nil where there is none
	free  func() // may be nil
	once  sync.Once
}

func newHandles() *handles { return &handles{open: map[*handle]struct{}{}} }

// add begins a handle, which takes over the use of the lease.
func (hs *handles) add(h *handle) {
	h.all = hs
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.open[h] = struct{}{}
}

func (h *handle) close() {
	h.once.Do(func() {
		h.all.mu.Lock()
		delete(h.all.open, h)
		h.all.mu.Unlock()
		if h.free != nil {
			h.free()
		}
		if h.lease != nil {
			h.lease.release(0)
		}
	})
}

func (hs *handles) closeAll() {
	hs.mu.Lock()
	var all []*handle
	for h := range hs.open {
		all = append(all, h)
	}
	hs.mu.Unlock()
	for _, h := range all {
		h.close()
	}
}
