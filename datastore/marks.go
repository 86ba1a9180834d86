package datastore

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"

	"github.com/pbs-like/pbs-like/digest"
)

// marks is the set of chunks that some index refers to. A chunk that was added is
// always found again. A chunk that was not added is taken for one only if the
// first 126 bits of its digest are the same, and is then kept for nothing.
//
// It is a table of pages with a directory (extendible hashing): a full page is
// split in two, so that the set grows by a page at a time, is never copied as a
// whole, and has no garbage. It needs 16 bytes a chunk in pages that are 70 %
// full on average: 20 to 27 bytes.
type marks struct {
	secret    [2]uint64 // nobody can choose digests that all fall into one page
	depth     uint8     // the directory has 1<<depth entries
	directory []uint32  // numbers of pages, by the first bits of the hash
	slabs     [][]markPage
	depths    []uint8 // of each page: so many first bits are the same in all of it
	count     int
}

const (
	pageMarks = 64 // 1 KiB
	slabPages = 64

	markUsed = 1 // else the slot is empty
	markSeen = 2
	markBits = markUsed | markSeen // the place of two bits of the digest
)

type (
	mark     struct{ high, low uint64 }
	markPage [pageMarks]mark
)

func newMarks() *marks {
	m := &marks{directory: []uint32{0}}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	m.secret = [2]uint64{binary.LittleEndian.Uint64(secret[:]), binary.LittleEndian.Uint64(secret[8:])}
	m.newPage(0)
	return m
}

func markOf(d digest.Digest) mark {
	return mark{binary.BigEndian.Uint64(d[:]), binary.BigEndian.Uint64(d[8:])&^markBits | markUsed}
}

func (k mark) same(other mark) bool { return k.high == other.high && (k.low^other.low)&^markSeen == 0 }

func (m *marks) hash(k mark) uint64 {
	high, low := bits.Mul64(k.high^m.secret[0], k.low&^markSeen^m.secret[1])
	return high ^ low
}

// add puts a chunk into the set and tells whether it is new there.
func (m *marks) add(d digest.Digest) bool { return m.put(markOf(d)) }

func (m *marks) put(k mark) bool {
	hash := m.hash(k)
	for {
		number := m.pageOf(hash)
		slot, found := m.page(number).find(k, hash)
		if found {
			return false
		}
		if slot != nil {
			*slot = k
			m.count++
			return true
		}
		m.split(number, hash)
	}
}

// has tells whether a chunk is in the set.
func (m *marks) has(d digest.Digest) bool {
	k := markOf(d)
	hash := m.hash(k)
	_, found := m.page(m.pageOf(hash)).find(k, hash)
	return found
}

// see is has, and remembers that the chunk is there on disk. first is false for
// one that was seen before.
func (m *marks) see(d digest.Digest) (found, first bool) {
	k := markOf(d)
	hash := m.hash(k)
	slot, found := m.page(m.pageOf(hash)).find(k, hash)
	if !found {
		return false, false
	}
	first = slot.low&markSeen == 0
	slot.low |= markSeen
	return true, first
}

// seen tells whether a chunk is in the set, and whether see was told of it.
func (m *marks) seen(d digest.Digest) (found, seen bool) {
	k := markOf(d)
	hash := m.hash(k)
	slot, found := m.page(m.pageOf(hash)).find(k, hash)
	return found, found && slot.low&markSeen != 0
}

func (m *marks) pageOf(hash uint64) uint32 { return m.directory[hash>>(64-m.depth)] }

func (m *marks) page(number uint32) *markPage {
	return &m.slabs[number/slabPages][number%slabPages]
}

// find gives the slot of a mark, or the empty one in which it belongs, or nil in a full page.
func (p *markPage) find(k mark, hash uint64) (slot *mark, found bool) {
	first := int(hash % pageMarks)
	for i := range pageMarks {
		slot = &p[(first+i)%pageMarks]
		if slot.low == 0 {
			return slot, false
		}
		if slot.same(k) {
			return slot, true
		}
	}
	return nil, false
}

func (m *marks) newPage(depth uint8) uint32 {
	number := len(m.depths)
	if number%slabPages == 0 {
		m.slabs = append(m.slabs, make([]markPage, slabPages))
	}
	m.depths = append(m.depths, depth)
	return uint32(number)
}

// split moves about half of a full page into a new one.
func (m *marks) split(number uint32, hash uint64) {
	depth := m.depths[number] + 1
	if depth > m.depth {
		m.double()
	}
	added := m.newPage(depth)
	m.depths[number] = depth
	// The directory entries of the old page are a row, whose second half goes to the new one.
	row := 1 << (m.depth - depth)
	begin := int(hash>>(64-m.depth)) &^ (2*row - 1)
	for i := range row {
		m.directory[begin+row+i] = added
	}
	page := m.page(number)
	old := *page
	*page = markPage{}
	for _, k := range old {
		hash := m.hash(k)
		slot, _ := m.page(m.pageOf(hash)).find(k, hash)
		*slot = k
	}
}

func (m *marks) double() {
	larger := make([]uint32, 2*len(m.directory))
	for i, number := range m.directory {
		larger[2*i], larger[2*i+1] = number, number
	}
	m.directory = larger
	m.depth++
}
