package pxar

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// slot is an item of a goodbye table: a child of the directory, or, as the last one, the tail.
type slot struct {
	hash   uint64 // of the child's name, or the tail's marker
	offset uint64 // back from the table's header to the child's name, or to the directory's entry
	size   uint64 // from the child's name to its end, or of the table's whole item
}

func parseSlot(b []byte) slot {
	return slot{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}
}

func (s slot) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, s.hash)
	b = binary.LittleEndian.AppendUint64(b, s.offset)
	return binary.LittleEndian.AppendUint64(b, s.size)
}

// permute puts slots into the order of the table: sorted by hash, and that as a
// complete binary search tree, level by level.
func permute(slots []slot) []slot {
	sorted := slices.Clone(slots)
	slices.SortStableFunc(sorted, func(a, b slot) int { return cmp.Compare(a.hash, b.hash) })
	out := make([]slot, len(slots))
	next := 0
	var fill func(i int)
	fill = func(i int) { // in order: what is smaller, the root, what is larger
		if i >= len(out) {
			return
		}
		fill(2*i + 1)
		out[i] = sorted[next]
		next++
		fill(2*i + 2)
	}
	fill(0)
	return out
}

// search visits the slots of a hash, until found says so or fails. Names that differ
// may have equal hashes; then it goes on below, on the left and, if there is none, on the right, as
// the original does. It visits no more than one path down the tree, whatever the table says.
func search(n, hash uint64, at func(i uint64) (slot, error), found func(slot) (bool, error)) (bool, error) {
	s, i, err := descend(n, 0, hash, at)
	for err == nil && i < n {
		done, err := found(s)
		if done || err != nil {
			return done, err
		}
		from := i
		if s, i, err = descend(n, 2*from+1, hash, at); err == nil && i >= n {
			s, i, err = descend(n, 2*from+2, hash, at)
		}
		if err != nil {
			return false, err
		}
	}
	return false, err
}

// descend goes down from slot i to the first one with the hash; n or more is none.
func descend(n, i, hash uint64, at func(i uint64) (slot, error)) (slot, uint64, error) {
	for i < n {
		s, err := at(i)
		switch {
		case err != nil:
			return slot{}, n, err
		case s.hash == hash:
			return s, i, nil
		case hash < s.hash:
			i = 2*i + 1
		default:
			i = 2*i + 2
		}
	}
	return slot{}, n, nil
}
