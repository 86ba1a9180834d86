package storelock

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

// memory is what a state file holds. Times are of the monotonic clock of this
// kernel, so it is worth nothing after a restart, or in another time namespace.
type memory struct {
	BootID    string                        `json:"boot-id"`
	TimeSpace string                        `json:"time-namespace"`
	Stores    map[string]map[string]watched `json:"stores"` // name of the store, key
}

type watched struct {
	Since time.Duration `json:"since"`
	Sum   uint64        `json:"sum"`
}

const (
	maxMemory   = 1 << 20
	mostWatched = 1000 // objects of one store that are remembered
)

// A Memory has what the attempts of one process have seen, so that those which don't wait long
// add up to watching. The zero value is empty; it may be used by several goroutines.
type Memory struct {
	mu     sync.Mutex
	stores map[string]map[string]watched // as in a state file
}

func (m *Memory) of(store string) map[string]watched {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stores[store]
}

func (m *Memory) keep(store string, entries map[string]watched) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(entries) == 0 {
		delete(m.stores, store)
		return
	}
	if m.stores == nil {
		m.stores = map[string]map[string]watched{}
	}
	m.stores[store] = entries
}

// remembered is the watch of those before us. A file that can't be read means that
// watching begins anew, which is the safe side.
func (s *session) remembered() watch {
	w := watch{}
	s.recall(w, s.opts.Memory.of(s.backend.String()))
	if s.opts.StateFile != "" {
		s.recall(w, s.readMemory().Stores[s.backend.String()])
	}
	return w
}

// recall adds what was seen. Of the same bytes the longer time counts; of others, in two
// memories, one is out of date, which loading the object tells.
func (s *session) recall(w watch, entries map[string]watched) {
	now := s.clock.now()
	offset := monotonic() - now.mono
	for key, e := range entries {
		since := now
		since.mono = e.Since - offset
		if had := w[key]; since.mono > now.mono || had != nil && had.since.mono <= since.mono {
			continue
		}
		w[key] = &seen{since: since, sum: e.Sum, loaded: true}
	}
}

// remember keeps what is still there for those who come later. It does not matter
// if that fails: they watch for themselves.
func (s *session) remember(w watch) {
	if s.opts.StateFile == "" && s.opts.Memory == nil {
		return
	}
	entries := s.toRemember(w)
	s.opts.Memory.keep(s.backend.String(), entries)
	if s.opts.StateFile == "" {
		return
	}
	m := s.readMemory()
	if m.Stores == nil {
		m.Stores = map[string]map[string]watched{}
	}
	if len(entries) == 0 && len(m.Stores[s.backend.String()]) == 0 {
		return
	}
	m.Stores[s.backend.String()] = entries
	if len(entries) == 0 {
		delete(m.Stores, s.backend.String())
	}
	_ = s.writeMemory(m)
}

func (s *session) toRemember(w watch) map[string]watched {
	offset := monotonic() - s.clock.now().mono
	entries := map[string]watched{}
	for key, seen := range w {
		ours := seen.err == nil && seen.lock.Instance == s.self.Instance
		if seen.loaded && !ours && len(entries) < mostWatched {
			entries[key] = watched{Since: seen.since.mono + offset, Sum: seen.sum}
		}
	}
	return entries
}

func (s *session) readMemory() (m memory) {
	now := memory{BootID: bootID(), TimeSpace: namespace("time")}
	f, err := os.OpenFile(s.opts.StateFile, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return now
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMemory))
	if err != nil || json.Unmarshal(data, &m) != nil || m.BootID == "" || m.BootID != now.BootID || m.TimeSpace != now.TimeSpace {
		return now
	}
	return m
}

func (s *session) writeMemory(m memory) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(s.opts.StateFile))
	if err != nil {
		return err
	}
	defer dir.Close()
	var disk *fsop.Disk
	return disk.WriteFile(dir, filepath.Base(s.opts.StateFile), data, 0o600)
}

// monotonic is that clock since the start of the kernel, the same for all its processes.
func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
