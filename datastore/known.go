package datastore

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

const (
	// maxKnown bounds the chunks of a base that are remembered: 16 MiB of memory for 8 TiB of chunks.
	maxKnown = 2 << 20
	// maxStored bounds the chunks of the present run that are remembered.
	maxStored = 256 << 10
)

// known are the chunks whose content need not be proven again before it is
// reused: those of the base, which a finished backup synced to disk, and those
// that this backup stored or proved itself.
//
// Only eight bytes of each digest are kept. A chunk that is taken for a known
// one by mistake is still found by its whole digest, or not at all; it is merely
// trusted without being read. What is beyond the bounds is read and proven.
type known struct {
	base []uint64

	mu     sync.Mutex
	stored map[uint64]struct{}
}

func short(d digest.Digest) uint64 { return binary.BigEndian.Uint64(d[:]) }

// remember takes over the chunks of an index of the base, before anybody asks for one.
func (k *known) remember(ctx context.Context, x *index.Reader) error {
	k.base = slices.Grow(k.base, min(x.Count(), maxKnown-len(k.base)))
	for d, err := range x.Digests(ctx) {
		if err != nil {
			return err
		}
		if len(k.base) == maxKnown {
			break
		}
		k.base = append(k.base, short(d))
	}
	slices.Sort(k.base)
	k.base = slices.Compact(k.base)
	return nil
}

// forget drops the chunks of the base, which belong to the archive that is being written.
func (k *known) forget() { k.base = k.base[:0] }

func (k *known) has(d digest.Digest) bool {
	key := short(d)
	if _, found := slices.BinarySearch(k.base, key); found {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, found := k.stored[key]
	return found
}

func (k *known) add(d digest.Digest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stored == nil {
		k.stored = make(map[uint64]struct{})
	}
	if len(k.stored) < maxStored {
		k.stored[short(d)] = struct{}{}
	}
}
