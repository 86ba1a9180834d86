package mount

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
)

// inodes gives out inode numbers. They are made of names, so that the same thing has the same number
// in the next mount too, but for a collision, in which the one that came later gets the next free number.
// A tree has a range of numbers, in which its entries are by their place in the archive.
type inodes struct {
	mu     sync.Mutex
	single map[uint64]string
	ranges []inodeRange // sorted
}

type inodeRange struct {
	start, end uint64
	key        string
}

// Single numbers have the first bit and ranges don't.
const singleBit = 1 << 63

// entrySpace is less than what the smallest entry of an archive takes, so that no two begin within it.
const entrySpace = 16

func newInodes() *inodes { return &inodes{single: map[uint64]string{}} }

func hashOf(key string) uint64 {
	sum := sha256.Sum256([]byte(key))
	return binary.LittleEndian.Uint64(sum[:])
}

// one is the number of a thing that is no tree.
func (i *inodes) one(key string) uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := hashOf(key) | singleBit; ; n++ {
		n |= singleBit
		if n == ^uint64(0) { // which the library keeps for itself
			continue
		}
		if had, taken := i.single[n]; !taken || had == key {
			i.single[n] = key
			return n
		}
	}
}

// span is the first number for a tree in an archive of size bytes.
func (i *inodes) span(key string, size uint64) uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	start, length := max(hashOf(key)>>2, 2), size/entrySpace+1
	for {
		at, _ := slices.BinarySearchFunc(i.ranges, start+length, func(r inodeRange, end uint64) int { return cmp.Compare(r.start, end) })
		// What begins before our end may reach beyond our start.
		if at == 0 || i.ranges[at-1].end <= start {
			i.ranges = slices.Insert(i.ranges, at, inodeRange{start, start + length, key})
			return start
		}
		if i.ranges[at-1].key == key {
			return i.ranges[at-1].start
		}
		start = i.ranges[at-1].end
	}
}
