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

// Encoder turns data into stored blobs. It keeps its memory (up to 3.5 MiB) for the
// next call, and so is not for concurrent use. Close gives the memory back.
type Encoder struct {
	thorough, quick *zstd.Encoder
}

// NewEncoder returns an Encoder. It takes its memory when it is first used.
func NewEncoder() *Encoder { return &Encoder{} }

// Encode appends the stored form of data to dst and returns the longer slice:
// compressed where that is strictly smaller, else plain. After an error, which
// is ErrTooLarge for more than MaxSize bytes, dst comes back as it was.
//
// dst and data must not overlap.
func (e *Encoder) Encode(dst, data []byte) ([]byte, error) {
	start := len(dst)
	out, compressed, err := e.pack(dst, data, HeaderSize)
	if err != nil {
		return dst, err
	}
	kind := Plain
	if compressed {
		kind = Zstd
	}
	seal(out[start:], kind)
	return out, nil
}

// EncodePlain is Encode without an attempt to compress.
func (e *Encoder) EncodePlain(dst, data []byte) ([]byte, error) {
	if err := checkSize(data); err != nil {
		return dst, err
	}
	out := appendPlain(dst, data, HeaderSize)
	seal(out[len(dst):], Plain)
	return out, nil
}

// pack appends room for a header and the payload of data, compressed where that
// is strictly smaller.
func (e *Encoder) pack(dst, data []byte, header int) (out []byte, compressed bool, err error) {
	if err := checkSize(data); err != nil {
		return nil, false, err
	}
	if len(data) < minCompress {
		return appendPlain(dst, data, header), false, nil
	}
	z, err := e.compressor(data)
	if err != nil {
		return nil, false, err
	}
	begin := len(dst) + header
	out = slices.Grow(dst, header+z.MaxEncodedSize(len(data)))[:begin]
	out = z.EncodeAll(data, out)
	if len(out)-begin >= len(data) {
		return append(out[:begin], data...), false, nil
	}
	return out, true, nil
}

func appendPlain(dst, data []byte, header int) []byte {
	out := slices.Grow(dst, header+len(data))
	return append(out[:len(dst)+header], data...)
}

// Close gives the Encoder's memory back. It never fails, and may come twice; an
// Encode after it takes memory again.
func (e *Encoder) Close() error {
	*e = Encoder{}
	return nil
}

// compressor returns the zstd encoder for this data.
//
// The thorough one tries to encode bytes by their frequency even where nothing
// repeats. Short text and Base64 need that, but on random data it only costs, as
// much time as the data's SHA-256.
func (e *Encoder) compressor(data []byte) (*zstd.Encoder, error) {
	z, thorough := &e.thorough, true
	if looksRandom(data) {
		z, thorough = &e.quick, false
	}
	if *z == nil {
		var err error
		if *z, err = newZstd(thorough); err != nil {
			return nil, err
		}
	}
	return *z, nil
}

func newZstd(thorough bool) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithAllLitEntropyCompression(thorough),
		zstd.WithEncoderCRC(false), // the blob has its own
		// As large as the original's at this level. More compresses no better here
		// and takes eight times the memory.
		zstd.WithWindowSize(512<<10),
	)
}

func checkSize(data []byte) error {
	if len(data) > MaxSize {
		return fmt.Errorf("%w: %d bytes to store, %d are possible", ErrTooLarge, len(data), MaxSize)
	}
	return nil
}
