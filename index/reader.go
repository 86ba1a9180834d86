package index

import (
	"encoding/binary"
	"io"

	"github.com/pbs-like/pbs-like/digest"
)

// Reader gives access to the chunks of one index. It is safe for concurrent use
// if its io.ReaderAt is, as an *os.File is.
type Reader struct {
	r      io.ReaderAt
	kind   Kind
	header header
	count  int
	size   uint64
	cache  cache
}

// Open reads the header of an index of fileSize bytes and checks it: the magic,
// the length of the file, which must fit a whole number of entries and, in a fixed
// index, the size of the image and of its chunks. The checksum is not checked.
//
// Errors unwrap to ErrCorrupt, to ErrWrongKind, or are those of r. r must stay
// usable for as long as the Reader.
func Open(r io.ReaderAt, fileSize int64, kind Kind) (*Reader, error) {
	h, err := readHeader(r, fileSize, kind)
	if err != nil {
		return nil, err
	}
	body := fileSize - HeaderSize
	entry := int64(kind.entrySize())
	if body%entry != 0 {
		return nil, corrupt("%d bytes of entries are not a multiple of %d", body, entry)
	}
	x := &Reader{r: r, kind: kind, header: h, count: int(body / entry), size: h.size}
	if kind == Fixed {
		err = x.checkFixed()
	} else {
		x.size, err = x.lastEnd()
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (x *Reader) checkFixed() error {
	count, err := fixedCount(x.size, x.header.chunkSize)
	switch {
	case err != nil:
		return corrupt("%w", err)
	case count != uint64(x.count):
		return corrupt("%d chunks for %d bytes in chunks of %d", x.count, x.size, x.header.chunkSize)
	}
	return nil
}

func (x *Reader) lastEnd() (uint64, error) {
	if x.count == 0 {
		return 0, nil
	}
	return x.readEnd(x.count - 1)
}

// readEnd reads the end offset of entry i of a dynamic index from the file.
func (x *Reader) readEnd(i int) (uint64, error) {
	var b [offsetLen]byte
	err := readFull(x.r, b[:], x.entryAt(i))
	return binary.LittleEndian.Uint64(b[:]), err
}

// entryAt returns where entry i begins in the file.
func (x *Reader) entryAt(i int) int64 {
	return HeaderSize + int64(i)*int64(x.kind.entrySize())
}

// Kind returns the kind that was given to Open.
func (x *Reader) Kind() Kind { return x.kind }

// Count returns the number of chunks. A chunk that is there twice counts twice.
func (x *Reader) Count() int { return x.count }

// Size returns the length of the archive in bytes. For a dynamic index it is the
// end offset of the last entry, whatever the others are.
func (x *Reader) Size() uint64 { return x.size }

// ChunkSize returns the size in bytes of each chunk (but the last) of a fixed
// index, and 0 for a dynamic one.
func (x *Reader) ChunkSize() uint64 { return x.header.chunkSize }

// Checksum returns the checksum of the entries that the header holds, right or
// wrong. It is the one that a manifest has for the archive.
func (x *Reader) Checksum() digest.Digest { return x.header.checksum }

// UUID returns the index's random identification.
func (x *Reader) UUID() [16]byte { return x.header.uuid }

// Created returns when the index was written, in seconds since 1970 (UTC).
func (x *Reader) Created() int64 { return x.header.created }
