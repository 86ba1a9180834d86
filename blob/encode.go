package blob

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// minCompress is the shortest data that the original ever stores compressed: its
// frames take 17 bytes at least. Ours can be shorter, but then small blobs would
// not be the same bytes as the original's, for a gain of nothing.
const minCompress = 18

// Encoder turns data into stored blobs. It keeps its memory for the next call,
// and so is not for concurrent use. Close gives the memory back.
type Encoder struct {
	zstd *zstd.Encoder
}

// NewEncoder returns an Encoder. It takes its memory at the first Encode.
func NewEncoder() *Encoder { return &Encoder{} }

// Encode appends the stored form of data to dst and returns the longer slice:
// compressed where that is strictly smaller, else plain. After an error, which
// is ErrTooLarge for more than MaxSize bytes, dst comes back as it was.
//
// dst and data must not overlap.
func (e *Encoder) Encode(dst, data []byte) ([]byte, error) {
	if len(data) < minCompress {
		return e.EncodePlain(dst, data)
	}
	if err := checkSize(data); err != nil {
		return dst, err
	}
	if err := e.warm(); err != nil {
		return dst, err
	}
	start := len(dst)
	out := slices.Grow(dst, HeaderSize+e.zstd.MaxEncodedSize(len(data)))[:start+HeaderSize]
	out = e.zstd.EncodeAll(data, out)
	kind := Zstd
	if len(out)-start-HeaderSize >= len(data) {
		out = append(out[:start+HeaderSize], data...)
		kind = Plain
	}
	seal(out[start:], kind)
	return out, nil
}

// EncodePlain is Encode without an attempt to compress.
func (e *Encoder) EncodePlain(dst, data []byte) ([]byte, error) {
	if err := checkSize(data); err != nil {
		return dst, err
	}
	start := len(dst)
	out := slices.Grow(dst, HeaderSize+len(data))[:start+HeaderSize]
	out = append(out, data...)
	seal(out[start:], Plain)
	return out, nil
}

// Close gives the Encoder's memory back. It never fails, and may come twice; an
// Encode after it takes memory again.
func (e *Encoder) Close() error {
	e.zstd = nil
	return nil
}

func (e *Encoder) warm() error {
	if e.zstd != nil {
		return nil
	}
	z, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), // the blob has its own
		zstd.WithAllLitEntropyCompression(true),
		zstd.WithWindowSize(512<<10),
		zstd.WithLowerEncoderMem(true),
	)
	e.zstd = z
	return err
}

func checkSize(data []byte) error {
	if len(data) > MaxSize {
		return fmt.Errorf("%w: %d bytes to store, %d are possible", ErrTooLarge, len(data), MaxSize)
	}
	return nil
}
