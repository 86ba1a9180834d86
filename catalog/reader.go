package catalog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"math"
)

// Reader reads a catalog. It is safe for concurrent use if its source is.
type Reader struct {
	r    io.ReaderAt
	end  uint64 // of the blocks
	root uint64
}

// Open opens a catalog of size bytes. An error is [ErrCorrupt], or one of r.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	if size < magicSize+pointerSize {
		return nil, corruptf("%d bytes are too few", size)
	}
	var begin, pointer [8]byte
	if err := readFull(r, begin[:], 0); err != nil {
		return nil, err
	}
	if begin != magic() {
		return nil, corruptf("it does not begin like one")
	}
	c := &Reader{r: r, end: uint64(size) - pointerSize}
	if err := readFull(r, pointer[:], int64(c.end)); err != nil {
		return nil, err
	}
	c.root = binary.LittleEndian.Uint64(pointer[:])
	if c.root < magicSize || c.root >= c.end {
		return nil, corruptf("its root would be at %d of %d", c.root, size)
	}
	_, err := c.newCursor().enter(c.root, magicSize, c.end)
	return c, err
}

func readFull(r io.ReaderAt, p []byte, at int64) error {
	_, err := io.ReadFull(io.NewSectionReader(r, at, int64(len(p))), p)
	return cutShort(err)
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corruptf("it is cut off")
	}
	return err
}

// cursor reads at one place at a time.
type cursor struct {
	source *io.SectionReader
	buf    *bufio.Reader
	pos    uint64
	limit  uint64
}

func (c *Reader) newCursor() *cursor {
	source := io.NewSectionReader(c.r, 0, int64(min(c.end, math.MaxInt64)))
	return &cursor{source: source, buf: bufio.NewReader(source)}
}

// block is a directory's block that is being read.
type block struct {
	start, pos, end uint64
	left            uint64 // entries
	floor           uint64 // no block below may begin before: it was read already
}

// enter reads the head of a block, which has to lie between floor and ceiling.
func (c *cursor) enter(start, floor, ceiling uint64) (block, error) {
	if start < floor || start >= ceiling {
		return block{}, corruptf("a directory at %d, which is not between %d and %d", start, floor, ceiling)
	}
	if err := c.seek(start, ceiling); err != nil {
		return block{}, err
	}
	length, err := readUint(c)
	if err != nil {
		return block{}, cutShort(err)
	}
	if length < 1 || length > ceiling-c.pos {
		return block{}, corruptf("a directory of %d bytes at %d", length, start)
	}
	c.limit = c.pos + length
	b := block{start: start, end: c.limit, floor: floor}
	if b.left, err = readUint(c); err != nil {
		return block{}, cutShort(err)
	}
	b.pos = c.pos
	return b, nil
}

func (c *cursor) seek(to, limit uint64) error {
	c.limit = limit
	if to == c.pos {
		return nil
	}
	if _, err := c.source.Seek(int64(to), io.SeekStart); err != nil {
		return err
	}
	c.buf.Reset(c.source)
	c.pos = to
	return nil
}

// ReadByte is for the numbers.
func (c *cursor) ReadByte() (byte, error) {
	if c.pos >= c.limit {
		return 0, io.EOF
	}
	b, err := c.buf.ReadByte()
	if err == nil {
		c.pos++
	}
	return b, err
}

func (c *cursor) text(n uint64) (string, error) {
	switch {
	case n > maxName:
		return "", corruptf("name of %d bytes", n)
	case n > c.limit-c.pos:
		return "", io.ErrUnexpectedEOF
	}
	b := make([]byte, n)
	_, err := io.ReadFull(c.buf, b)
	c.pos += n
	return string(b), err
}

// next reads an entry of the block; io.EOF is behind the last.
func (c *cursor) next(b *block) (Entry, error) {
	if b.left == 0 {
		if b.pos != b.end {
			return Entry{}, corruptf("a directory at %d has more than its entries", b.start)
		}
		return Entry{}, io.EOF
	}
	err := c.seek(b.pos, b.end)
	if err != nil {
		return Entry{}, err
	}
	e, err := c.entry(b)
	b.left--
	b.pos = c.pos
	return e, cutShort(err)
}

func (c *cursor) entry(b *block) (e Entry, err error) {
	kind, err := c.ReadByte()
	if err != nil {
		return e, err
	}
	if e.Kind = Kind(kind); !e.Kind.valid() {
		return e, corruptf("entry of unknown kind %q", kind)
	}
	length, err := readUint(c)
	if err != nil {
		return e, err
	}
	if e.Name, err = c.text(length); err != nil {
		return e, err
	}
	switch e.Kind { //nolint:exhaustive // the others have nothing more
	case Directory:
		var back uint64
		back, err = readUint(c)
		e.block = b.start - back
	case File:
		if e.Size, err = readUint(c); err == nil {
			e.ModTime, err = readInt(c)
		}
	}
	return e, err
}

// Root lists the root: a directory for each archive.
func (c *Reader) Root() iter.Seq2[Entry, error] { return c.list(c.root, c.end) }

// Entries lists a directory.
func (c *Reader) Entries(dir Entry) iter.Seq2[Entry, error] {
	return c.list(dir.block, c.end)
}

func (c *Reader) list(start, ceiling uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		cursor := c.newCursor()
		b, err := cursor.enter(start, magicSize, ceiling)
		for err == nil {
			var e Entry
			e, err = cursor.next(&b)
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && !yield(e, nil) {
				return
			}
		}
		yield(Entry{}, err)
	}
}
