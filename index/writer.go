package index

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/pbs-like/pbs-like/digest"
)

var errFinished = errors.New("index is finished")

// sink is what both writers share: it buffers the entries and hashes what goes
// out.
type sink struct {
	out   *bufio.Writer
	hash  hash.Hash
	count uint64
	err   error // the first one; nothing is written after it

	// entry is here because a local one would be garbage with each chunk.
	entry [offsetLen + digest.Size]byte
}

func newSink(entries io.Writer) sink {
	h := sha256.New()
	return sink{out: bufio.NewWriterSize(io.MultiWriter(entries, h), 32<<10), hash: h}
}

// add writes one entry: the end, where the kind has it, and the digest.
func (s *sink) add(kind Kind, end uint64, d digest.Digest) error {
	if s.err != nil {
		return s.err
	}
	binary.LittleEndian.PutUint64(s.entry[:], end)
	copy(s.entry[offsetLen:], d[:])
	entry := s.entry[len(s.entry)-kind.entrySize():]
	if _, s.err = s.out.Write(entry); s.err == nil {
		s.count++
	}
	return s.err
}

// finish completes h and returns it. The sink takes nothing after it.
func (s *sink) finish(h header, kind Kind) ([]byte, digest.Digest, error) {
	if s.err == nil {
		s.err = s.out.Flush()
	}
	if s.err != nil {
		return nil, digest.Digest{}, s.err
	}
	s.err = errFinished
	h.checksum = digest.Digest(s.hash.Sum(nil))
	return h.bytes(kind), h.checksum, nil
}

// FixedWriter writes the entries of a fixed index. It is not for concurrent use.
type FixedWriter struct {
	sink      sink
	chunkSize uint64
}

// NewFixedWriter returns a writer for chunks of chunkSize bytes, a power of two
// up to MaxChunkSize; other sizes are an error. entries is written from the first
// entry on: for a file, it stands behind HeaderSize bytes that the caller fills
// with the header in the end. The last entries may come only with Finish.
func NewFixedWriter(entries io.Writer, chunkSize uint64) (*FixedWriter, error) {
	if err := checkChunkSize(chunkSize); err != nil {
		return nil, err
	}
	return &FixedWriter{sink: newSink(entries), chunkSize: chunkSize}, nil
}

// Add appends the next chunk. After an error of the writer below it, every call
// returns that error.
func (w *FixedWriter) Add(d digest.Digest) error { return w.sink.add(Fixed, 0, d) }

// Finish writes what is left and returns the header, of HeaderSize bytes, and the
// checksum, for an image of size bytes. The number of chunks must fit the size.
// created is in seconds since 1970. No Add may follow.
func (w *FixedWriter) Finish(size uint64, uuid [16]byte, created int64) ([]byte, digest.Digest, error) {
	count, err := fixedCount(size, w.chunkSize)
	if err != nil {
		return nil, digest.Digest{}, err
	}
	if count != w.sink.count && w.sink.err == nil {
		return nil, digest.Digest{}, fmt.Errorf("%d chunks of %d bytes for an image of %d bytes", w.sink.count, w.chunkSize, size)
	}
	h := header{uuid: uuid, created: created, size: size, chunkSize: w.chunkSize}
	return w.sink.finish(h, Fixed)
}

// DynamicWriter writes the entries of a dynamic index. It is not for concurrent
// use.
type DynamicWriter struct {
	sink sink
	end  uint64
}

// NewDynamicWriter returns a writer of entries, as NewFixedWriter does.
func NewDynamicWriter(entries io.Writer) *DynamicWriter {
	return &DynamicWriter{sink: newSink(entries)}
}

// Add appends the next chunk, which ends before the byte end of the archive. A
// chunk without data, or larger than MaxChunkSize, is an error that changes
// nothing. After an error of the writer below it, every call returns that error.
func (w *DynamicWriter) Add(end uint64, d digest.Digest) error {
	if end <= w.end || end-w.end > MaxChunkSize {
		return fmt.Errorf("chunk from %d to %d: its size must be from 1 to %d", w.end, end, MaxChunkSize)
	}
	err := w.sink.add(Dynamic, end, d)
	if err == nil {
		w.end = end
	}
	return err
}

// Size returns the length of the archive so far: the end of the last chunk.
func (w *DynamicWriter) Size() uint64 { return w.end }

// Finish writes what is left and returns the header, of HeaderSize bytes, and the
// checksum. created is in seconds since 1970. No Add may follow.
func (w *DynamicWriter) Finish(uuid [16]byte, created int64) ([]byte, digest.Digest, error) {
	return w.sink.finish(header{uuid: uuid, created: created}, Dynamic)
}
