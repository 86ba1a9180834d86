package storelocktest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pbs-like/pbs-like/storelock"
)

// Call is one call of a store.
type Call struct {
	Op   string // "list", "load", "store" or "delete"
	Name string
}

// Memory is a store in memory. The zero value is empty and ready for use.
type Memory struct {
	mu      sync.Mutex
	before  Hook
	after   Hook
	objects map[string][]byte
}

// A Hook may fail a call, or hold it up.
type Hook func(context.Context, Call) error

// SetBefore sets what runs before each call; its error is the call's. nil: nothing.
func (m *Memory) SetBefore(h Hook) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = h
}

// SetAfter sets what runs after each call that took effect, likewise.
func (m *Memory) SetAfter(h Hook) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.after = h
}

// String names the store.
func (m *Memory) String() string { return "memory" }

func (m *Memory) call(ctx context.Context, c Call, effect func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", storelock.ErrNotStored, err)
	}
	m.mu.Lock()
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx, c); err != nil {
			return err
		}
	}
	m.mu.Lock()
	err := effect()
	m.mu.Unlock()
	if after != nil && err == nil {
		err = after(ctx, c)
	}
	return err
}

// List implements [storelock.Backend].
func (m *Memory) List(ctx context.Context, prefix string) (keys []string, err error) {
	err = m.call(ctx, Call{"list", prefix}, func() error {
		keys = m.names(prefix)
		return nil
	})
	return keys, err
}

// Load implements [storelock.Backend].
func (m *Memory) Load(ctx context.Context, name string) (data []byte, err error) {
	err = m.call(ctx, Call{"load", name}, func() error {
		stored, ok := m.objects[name]
		switch {
		case !ok:
			return fmt.Errorf("%q: %w", name, storelock.ErrNotFound)
		case len(stored) > storelock.MaxObject:
			return fmt.Errorf("%q: %w", name, storelock.ErrTooLarge)
		}
		data = bytes.Clone(stored)
		return nil
	})
	return data, err
}

// Store implements [storelock.Backend].
func (m *Memory) Store(ctx context.Context, name string, data []byte) error {
	return m.call(ctx, Call{"store", name}, func() error {
		if m.objects == nil {
			m.objects = map[string][]byte{}
		}
		m.objects[name] = bytes.Clone(data)
		return nil
	})
}

// Delete implements [storelock.Backend].
func (m *Memory) Delete(ctx context.Context, name string) error {
	return m.call(ctx, Call{"delete", name}, func() error {
		if _, ok := m.objects[name]; !ok {
			return fmt.Errorf("%q: %w", name, storelock.ErrNotFound)
		}
		delete(m.objects, name)
		return nil
	})
}

func (m *Memory) names(prefix string) (keys []string) {
	for name := range m.objects {
		if key, ok := strings.CutPrefix(name, prefix+"/"); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Objects is what is in the store now.
func (m *Memory) Objects() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.objects)
}

// Put puts an object there, past all hooks.
func (m *Memory) Put(name string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects == nil {
		m.objects = map[string][]byte{}
	}
	m.objects[name] = data
}
