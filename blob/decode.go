package blob

import (
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Decoder turns stored blobs into data. It keeps its memory (300 KiB, and for
// encrypted blobs as much as the largest compressed one) for the next call, and so
// is not for concurrent use. Close gives the memory back.
type Decoder struct {
	zstd   *zstd.Decoder
	opened []byte // a compressed payload once decrypted
}

// NewDecoder returns a Decoder. It takes its memory at the first compressed blob.
func NewDecoder() *Decoder { return &Decoder{} }

// Decode checks the CRC of a stored blob, appends its data to dst and returns the
// longer slice. limit is the largest number of bytes to append; more than MaxSize
// is the same as MaxSize. Whatever stored holds, Decode takes no more memory than
// limit and a little slack.
//
// Errors unwrap to ErrCorrupt, to ErrTooLarge for data beyond limit, or to
// ErrNeedKey for an encrypted blob, which [Decoder.DecodeWithKey] is for. After an
// error dst comes back as it was, though bytes between its length and its capacity
// may have changed.
//
// dst and stored must not overlap.
func (d *Decoder) Decode(dst, stored []byte, limit int) ([]byte, error) {
	return d.DecodeWithKey(dst, stored, limit, nil)
}

// Close gives the Decoder's memory back. It never fails, and may come twice; a
// Decode after it takes memory again.
func (d *Decoder) Close() error {
	if d.zstd != nil {
		d.zstd.Close()
	}
	*d = Decoder{}
	return nil
}

// unpack appends the data of a payload that is not, or no longer, encrypted.
func (d *Decoder) unpack(dst, payload []byte, kind Kind, limit int) ([]byte, error) {
	if kind.Compressed() {
		return d.decompress(dst, payload, limit)
	}
	if len(payload) > limit {
		return dst, tooLarge(limit)
	}
	// With the room that decompress takes, so that a buffer that is used again
	// fits both.
	return append(slices.Grow(dst, len(payload)+slack), payload...), nil
}

func (d *Decoder) decompress(dst, payload []byte, limit int) ([]byte, error) {
	bound, err := decodedBound(payload)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err := d.warm(); err != nil {
		return dst, err
	}
	room := int(min(bound, int64(limit))) + slack
	start := len(dst)
	buf := slices.Grow(dst, room)
	// Three indexes: the capacity is what stops a bomb.
	out, err := d.zstd.DecodeAll(payload, buf[start:start:start+room])
	switch {
	case bound > int64(limit) && exceeds(out, err, limit):
		return dst, tooLarge(limit)
	case err != nil:
		return dst, fmt.Errorf("%w: zstd: %w", ErrCorrupt, err)
	}
	return inPlace(buf, out), nil
}

// exceeds reports whether decoding went, or would have gone, beyond limit. The
// decoder has several errors for a block that does not fit, but all come when the
// blocks before it fill the room but for less than one block.
func exceeds(out []byte, err error, limit int) bool {
	if err == nil {
		return len(out) > limit
	}
	return errors.Is(err, zstd.ErrDecoderSizeExceeded) || len(out)+maxBlock > limit
}

// slack lets the decoder copy in whole words up to the end of the last block,
// which is faster than its exact way.
const slack = 32

func (d *Decoder) warm() error {
	if d.zstd != nil {
		return nil
	}
	z, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(MaxSize+slack),
		zstd.WithDecoderMaxWindow(MaxSize), // also what the original's library accepts
		zstd.WithDecoderLowmem(false),
	)
	d.zstd = z
	return err
}

// inPlace returns dst with out behind it. The decoder has put out there already,
// unless it chose a buffer of its own.
func inPlace(dst, out []byte) []byte {
	end := len(dst) + len(out)
	if len(out) > 0 && (end > cap(dst) || &dst[len(dst):end][0] != &out[0]) {
		return append(dst, out...)
	}
	return dst[:end]
}

func tooLarge(limit int) error {
	return fmt.Errorf("%w: more than %d bytes once decoded", ErrTooLarge, limit)
}
