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
		before, err := x.entry(i - 1)
		if err != nil {
			return Chunk{}, err
		}
		start = binary.LittleEndian.Uint64(before)
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
// offset at or beyond Size() is an error, and so are the ones of Chunk.
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

// search returns the first entry whose end is beyond offset.
func (x *Reader) search(offset uint64) (int, error) {
	var failed error
	i := sort.Search(x.count-1, func(i int) bool {
		entry, err := x.entry(i)
		if err != nil {
			failed = errors.Join(failed, err)
			return true
		}
		return binary.LittleEndian.Uint64(entry) > offset
	})
	return i, failed
}
