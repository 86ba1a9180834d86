package pxar

import "math"

// Searchable tells whether the directory's table is the search tree that it has to be, without two equal hashes: then
// a lookup finds every entry of a listing that is [Entry.Hashed], and no two of these have one name. It reads the table once, and
// takes 8 bytes of memory for each entry. Of more entries than are listed at once it is false.
func (d *Dir) Searchable() (bool, error) {
	if d.slots > maxListing {
		return false, nil
	}
	src := d.archive.source(d.table+headerSize, d.table+headerSize+d.slots*slotSize)
	var hashes []uint64
	for range d.slots {
		b, err := src.full(slotSize, "a goodbye table")
		if err != nil {
			return false, err
		}
		hashes = append(hashes, parseSlot(b).hash)
	}
	return isSearchTree(hashes, 0, 0, math.MaxUint64), nil
}

// Hashed tells of an entry that a [Dir] gave whether the table has it under the hash of its name.
func (e *Entry) Hashed() bool { return e.hash == hashName(e.Name()) }

// isSearchTree goes no deeper than a complete tree of so many is.
func isSearchTree(hashes []uint64, i int, least, most uint64) bool {
	if i >= len(hashes) {
		return true
	}
	h, left, right := hashes[i], 2*i+1, 2*i+2
	switch {
	case h < least || h > most, h == least && left < len(hashes), h == most && right < len(hashes):
		return false
	}
	return isSearchTree(hashes, left, least, h-1) && isSearchTree(hashes, right, h+1, most)
}
