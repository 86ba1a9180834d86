package index

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/pbs-like/pbs-like/digest"
)

// HeaderSize is the length of the header; the entries follow it.
const HeaderSize = 4096

// MaxChunkSize is the largest chunk, in bytes: no blob holds more.
const MaxChunkSize = 128 << 20

const (
	uuidAt      = 8
	createdAt   = 24
	checksumAt  = 32
	sizeAt      = 64
	chunkSizeAt = 72
	usedBytes   = 80 // what follows is zero and for future use
)

type header struct {
	uuid      [16]byte
	created   int64
	checksum  digest.Digest
	size      uint64 // fixed only
	chunkSize uint64 // fixed only
}

// readHeader reads the header and checks that it is one of this kind. It checks
// no other field, so that a collection can go on with a damaged one.
func readHeader(r io.ReaderAt, fileSize int64, kind Kind) (header, error) {
	if !kind.valid() {
		return header{}, corrupt("no such kind: %d", int(kind))
	}
	if fileSize < HeaderSize {
		return header{}, corrupt("%d bytes are no header", fileSize)
	}
	var b [usedBytes]byte
	if err := readFull(r, b[:], 0); err != nil {
		return header{}, err
	}
	switch magic(b[:]) {
	case kind.magic():
		return parseHeader(b, kind), nil
	case kind.other().magic():
		return header{}, ErrWrongKind
	}
	return header{}, corrupt("unknown magic %x", b[:magicSize])
}

func parseHeader(b [usedBytes]byte, kind Kind) header {
	h := header{
		uuid:     [16]byte(b[uuidAt:]),
		created:  int64(binary.LittleEndian.Uint64(b[createdAt:])),
		checksum: digest.Digest(b[checksumAt:]),
	}
	if kind == Fixed {
		h.size = binary.LittleEndian.Uint64(b[sizeAt:])
		h.chunkSize = binary.LittleEndian.Uint64(b[chunkSizeAt:])
	}
	return h
}

// bytes returns the header as it stands in the file.
func (h header) bytes(kind Kind) []byte {
	b := make([]byte, HeaderSize)
	m := kind.magic()
	copy(b, m[:])
	copy(b[uuidAt:], h.uuid[:])
	binary.LittleEndian.PutUint64(b[createdAt:], uint64(h.created))
	copy(b[checksumAt:], h.checksum[:])
	binary.LittleEndian.PutUint64(b[sizeAt:], h.size)
	binary.LittleEndian.PutUint64(b[chunkSizeAt:], h.chunkSize)
	return b
}

// fixedCount returns the number of chunks of an image, or an error for numbers
// that no image has.
func fixedCount(size, chunkSize uint64) (uint64, error) {
	if err := checkChunkSize(chunkSize); err != nil {
		return 0, err
	}
	if size > math.MaxInt64 {
		return 0, fmt.Errorf("an image of %d bytes", size)
	}
	return (size + chunkSize - 1) / chunkSize, nil
}

func checkChunkSize(chunkSize uint64) error {
	if bits.OnesCount64(chunkSize) != 1 || chunkSize > MaxChunkSize {
		return fmt.Errorf("chunk size %d is not a power of two up to %d", chunkSize, MaxChunkSize)
	}
	return nil
}
