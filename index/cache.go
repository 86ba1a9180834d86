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

// get returns a block, or nil if it is not there.
func (c *cache) get(number int) *block {
	if b := c.slots[number%cacheSlots].Load(); b != nil && b.number == number {
		return b
	}
	return nil
}

func (c *cache) put(b *block) { c.slots[b.number%cacheSlots].Store(b) }

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
	if b := x.cache.get(number); b != nil {
		return b, nil
	}
	first := number * blockEntries
	n := min(blockEntries, x.count-first)
	b := &block{number: number, entries: make([]byte, n*x.kind.entrySize())}
	if err := readFull(x.r, b.entries, x.entryAt(first)); err != nil {
		return nil, err
	}
	x.cache.put(b)
	return b, nil
}

// blockEnd returns where the last chunk of a block ends, without reading the
// block: a search asks for many blocks and needs one.
func (x *Reader) blockEnd(number int) (uint64, error) {
	last := min((number+1)*blockEntries, x.count) - 1
	if x.cache.get(number) != nil {
		return x.end(last)
	}
	return x.readEnd(last)
}
