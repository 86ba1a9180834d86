package index

import "sync/atomic"

const (
	blockEntries = 512 // 16 or 20 KiB
	cacheSlots   = 8
)

// cache holds a few blocks of entries, each in the slot that its number chooses.
// A block never changes once it is there, so a reader needs no lock: at worst two
// read the same block at once, and one of the two stays.
type cache struct {
	slots [cacheSlots]atomic.Pointer[block]
}

type block struct {
	number  int
	entries []byte
}

// entry returns the bytes of entry i, which must exist.
func (x *Reader) entry(i int) ([]byte, error) {
	b, err := x.block(i / blockEntries)
	if err != nil {
		return nil, err
	}
	size := x.kind.entrySize()
	at := i % blockEntries * size
	return b.entries[at : at+size], nil
}

func (x *Reader) block(number int) (*block, error) {
	slot := &x.cache.slots[number%cacheSlots]
	if b := slot.Load(); b != nil && b.number == number {
		return b, nil
	}
	first := number * blockEntries
	n := min(blockEntries, x.count-first)
	b := &block{number: number, entries: make([]byte, n*x.kind.entrySize())}
	if err := readFull(x.r, b.entries, x.entryAt(first)); err != nil {
		return nil, err
	}
	slot.Store(b)
	return b, nil
}
