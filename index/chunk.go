package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/pbs-like/pbs-like/digest"
)

// Chunk is one entry of an index: the bytes Start to End (exclusive) of the
// archive are the data of the chunk with this digest.
type Chunk struct {
	Digest     digest.Digest
	Start, End uint64
}

// Size returns the number of bytes of the chunk once decoded.
func (c Chunk) Size() uint64 { return c.End - c.Start }

// Chunk returns entry i, from 0 to Count()-1. The error unwraps to ErrCorrupt
// where the offsets of a dynamic index don't grow there or make a chunk larger
// than MaxChunkSize; it is one of the io.ReaderAt otherwise.
func (x *Reader) Chunk(i int) (Chunk, error) {
	if i < 0 || i >= x.count {
		return Chunk{}, fmt.Errorf("chunk %d of an index of %d", i, x.count)
	}
	start := uint64(0)
	if x.kind == Dynamic && i > 0 {
		var err error
		if start, err = x.end(i - 1); err != nil {
			return Chunk{}, err
		}
	}
	entry, err := x.entry(i)
	if err != nil {
		return Chunk{}, err
	}
	return x.chunk(i, start, entry)
}

// chunk makes a Chunk of an entry. start is for dynamic indexes.
func (x *Reader) chunk(i int, start uint64, entry []byte) (Chunk, error) {
	if x.kind == Fixed {
		start = uint64(i) * x.header.chunkSize
		end := min(start+x.header.chunkSize, x.size)
		return Chunk{Digest: digest.Digest(entry), Start: start, End: end}, nil
	}
	end := binary.LittleEndian.Uint64(entry)
	switch {
	case end <= start:
		return Chunk{}, corrupt("chunk %d ends at %d and starts at %d", i, end, start)
	case end > x.size:
		return Chunk{}, corrupt("chunk %d ends at %d, the archive at %d", i, end, x.size)
	case end-start > MaxChunkSize:
		return Chunk{}, corrupt("chunk %d has %d bytes, %d are possible", i, end-start, MaxChunkSize)
	}
	return Chunk{Digest: digest.Digest(entry[offsetLen:]), Start: start, End: end}, nil
}

// ChunkAt returns the number of the chunk that holds the byte at offset. An
// offset at or beyond Size() is an error, and so are the ones of Chunk. Of offsets
// that do not grow it sees only those on its way: in a damaged index, the byte may
// be in another chunk too.
func (x *Reader) ChunkAt(offset uint64) (int, error) {
	if offset >= x.size {
		return 0, fmt.Errorf("offset %d of an archive of %d bytes", offset, x.size)
	}
	if x.kind == Fixed {
		return int(offset / x.header.chunkSize), nil
	}
	i, err := x.search(offset)
	if err != nil {
		return 0, err
	}
	// The search trusts the order of the ends. What it found is looked at once
	// more, so that a caller never gets a chunk that lacks the byte.
	c, err := x.Chunk(i)
	if err == nil && (offset < c.Start || offset >= c.End) {
		err = corrupt("the offsets around chunk %d do not grow", i)
	}
	if err != nil {
		return 0, err
	}
	return i, nil
}

// search returns the first entry whose end is beyond offset: first the block that
// holds it, for which one end of each block is enough, then the entry in it.
func (x *Reader) search(offset uint64) (int, error) {
	var failed error
	beyond := func(end uint64, err error) bool {
		failed = errors.Join(failed, err)
		return err != nil || end > offset
	}
	blocks := (x.count + blockEntries - 1) / blockEntries
	number := sort.Search(blocks-1, func(n int) bool { return beyond(x.blockEnd(n)) })
	first := number * blockEntries
	within := min(blockEntries, x.count-first)
	i := sort.Search(within-1, func(i int) bool { return beyond(x.end(first + i)) })
	return first + i, failed
}

// end returns where chunk i of a dynamic index ends.
func (x *Reader) end(i int) (uint64, error) {
	entry, err := x.entry(i)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(entry), nil
}
