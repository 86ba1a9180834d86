package pxar

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
)

// maxListing bounds the memory of a listing, at 24 bytes an entry. The original's client refuses directories of an
// eighth of that, unless it is told not to. A lookup and a walk have no bound.
const maxListing = 8 << 20

// Dir is a directory of an [Archive]. A hostile one may list anything, but
// never something that is not inside of it: what is opened gets smaller at each step down.
type Dir struct {
	archive *Archive
	path    string // "" for the root
	start   uint64 // of its entry
	table   uint64 // of the goodbye table's header
	slots   uint64 // of the table, without the tail
}

// dir reads the tail at the end of a directory's range.
func (a *Archive) dir(start, end uint64, path string) (*Dir, error) {
	if end < slotSize || end-slotSize < start {
		return nil, corruptf("no room for a goodbye table before %d", end)
	}
	b, err := a.read(end-slotSize, slotSize)
	if err != nil {
		return nil, err
	}
	tail := parseSlot(b)
	switch {
	case tail.hash != tailMarker:
		return nil, corruptf("no goodbye table before %d", end)
	case tail.size < headerSize+slotSize || tail.size > end-start || (tail.size-headerSize)%slotSize != 0:
		return nil, corruptf("goodbye table of %d bytes before %d", tail.size, end)
	case tail.offset > end-tail.size-start:
		return nil, corruptf("goodbye table before %d of a directory that begins %d bytes before it", end, tail.offset)
	}
	table := end - tail.size
	return &Dir{a, path, table - tail.offset, table, (tail.size-headerSize)/slotSize - 1}, nil
}

// Len is how many entries the directory has.
func (d *Dir) Len() uint64 { return d.slots }

func (d *Dir) slot(i uint64) (slot, error) {
	b, err := d.archive.read(d.table+headerSize+i*slotSize, slotSize)
	if err != nil {
		return slot{}, err
	}
	return parseSlot(b), nil
}

// Lookup finds an entry by its name. The error is [ErrNotFound] or [ErrCorrupt].
func (d *Dir) Lookup(name string) (*Entry, error) {
	src := d.archive.briefly(d.start, d.table)
	defer d.archive.done(src)
	e := &Entry{}
	ok, err := search(d.slots, hashName(name), d.slot, func(s slot) (bool, error) {
		err := d.name(src, s, e)
		return e.Name() == name, err
	})
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err == nil {
		err = d.rest(src, e)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", d.path+"/"+name, err)
	}
	return e, nil
}

func (d *Dir) source() *source { return d.archive.source(d.start, d.table) }

// name reads the name that a slot leads to, and leaves src behind it.
func (d *Dir) name(src *source, s slot, e *Entry) error {
	at := d.table - s.offset
	*e = Entry{name: at, end: at + s.size, hash: s.hash}
	switch {
	case s.offset > d.table || at < d.start:
		return corruptf("entry %d bytes before the table at %d, which is outside of its directory", s.offset, d.table)
	case e.end < at:
		return corruptf("entry at %d with the size %d", at, s.size)
	}
	if err := src.move(at); err != nil {
		return err
	}
	h, err := src.header("a name")
	if err != nil {
		return err
	}
	if h.kind != itemFilename {
		return corruptf("%s at %d, where a name has to be", h.kind, at)
	}
	name, err := src.filename(h)
	if err != nil {
		return err
	}
	e.Path = d.path + "/" + string(name)
	if e.end < src.pos {
		return corruptf("%q ends before its name", e.Path)
	}
	return nil
}

// rest reads what stands behind the name. The end of a file may lie too far back in
// version 2: some sizes that the original writes count content that is elsewhere. A directory ends
// where it says, and inside of its parent, or else a table could lead back to itself.
func (d *Dir) rest(src *source, e *Entry) error {
	src.limit = e.end
	err := src.entry(e, true)
	if err == nil && e.Kind == Directory && e.end > d.table {
		err = corruptf("%q reaches out of its directory", e.Path)
	}
	return err
}

func (d *Dir) read(src *source, s slot) (*Entry, error) {
	e := &Entry{}
	if err := d.name(src, s, e); err != nil {
		return nil, err
	}
	return e, d.rest(src, e)
}

// Entries lists the directory, in the order of the archive, which is that of the
// names. An entry that can't be read is an error in its place, and the listing goes on.
func (d *Dir) Entries() iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		slots, err := d.sorted()
		if err != nil {
			yield(nil, fmt.Errorf("directory %q: %w", d.path+"/", err))
			return
		}
		d.list(slots, yield)
	}
}

func (d *Dir) list(slots []slot, yield func(*Entry, error) bool) {
	var src *source
	taken := uint64(0) // up to where that reaches which was listed
	for _, s := range slots {
		if src == nil {
			src = d.source()
		}
		e, err := d.next(src, s, &taken)
		if err == nil && e.Kind == Directory {
			src = nil // who goes down into a deep tree needs no buffer for each level
		}
		if err != nil {
			e, err = nil, fmt.Errorf("directory %q: entry at %d: %w", d.path+"/", d.table-s.offset, err)
		}
		if !yield(e, err) {
			return
		}
	}
}

// next reads an entry of a listing. No byte is read for two of them, so that a hostile table takes no more time
// than an honest one, and gives no more.
func (d *Dir) next(src *source, s slot, taken *uint64) (*Entry, error) {
	if s.offset <= d.table && d.table-s.offset < *taken {
		return nil, corruptf("in the place of another entry")
	}
	e, err := d.read(src, s)
	*taken = max(*taken, src.pos)
	if err == nil {
		*taken = max(*taken, e.takes())
	}
	return e, err
}

// takes is where the entry ends that was listed, as far as that is known of its kind.
func (e *Entry) takes() uint64 {
	switch {
	case e.Kind == Directory:
		return e.end
	case e.Kind == File && !e.Split && e.Size <= math.MaxUint64-e.content:
		return e.content + e.Size
	}
	return 0
}

// sorted is the table in the order of the archive, so that it is read once and forward.
func (d *Dir) sorted() ([]slot, error) {
	if d.slots > maxListing {
		return nil, fmt.Errorf("%d entries are too many to be listed at once", d.slots)
	}
	src := d.archive.source(d.table+headerSize, d.table+headerSize+d.slots*slotSize)
	var slots []slot
	for range d.slots {
		b, err := src.full(slotSize, "a goodbye table")
		if err != nil {
			return nil, err
		}
		slots = append(slots, parseSlot(b))
	}
	slices.SortStableFunc(slots, func(a, b slot) int { return cmp.Compare(b.offset, a.offset) })
	return slots, nil
}
