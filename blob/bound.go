package blob

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	maxBlock        = 128 << 10 // decoded bytes of a zstd block
	blockHeaderSize = 3
	checksumSize    = 4
	rleBlock        = 1
	compressedBlock = 2
)

var errNoFrame = errors.New("no zstd frame")

// decodedBound walks over the frames of a payload without decoding them and
// returns how many bytes they decode to at most.
//
// The original writes frames without a content size, and a size that is there
// may lie. The blocks tell within one block's size what a whole payload needs,
// so that one allocation of the right size is enough.
func decodedBound(payload []byte) (int64, error) {
	if len(payload) == 0 {
		return 0, errNoFrame
	}
	total := int64(0)
	for len(payload) > 0 {
		bound, rest, err := frameBound(payload)
		if err != nil {
			return 0, err
		}
		total += bound
		payload = rest
	}
	return total, nil
}

func frameBound(b []byte) (bound int64, rest []byte, err error) {
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		return 0, nil, err
	}
	if h.Skippable {
		return skip(b, int64(h.HeaderSize)+int64(h.SkippableSize))
	}
	bound, rest, err = blocksBound(b[h.HeaderSize:])
	if err == nil && h.HasCheckSum {
		_, rest, err = skip(rest, checksumSize)
	}
	if h.HasFCS && h.FrameContentSize < uint64(bound) {
		bound = int64(h.FrameContentSize)
	}
	return bound, rest, err
}

// blocksBound walks over the blocks of one frame.
func blocksBound(b []byte) (bound int64, rest []byte, err error) {
	for last := false; !last; {
		if len(b) < blockHeaderSize {
			return 0, nil, io.ErrUnexpectedEOF
		}
		head := int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16
		last = head&1 != 0
		size := head >> 3
		stored := size
		switch head >> 1 & 3 {
		case rleBlock:
			stored = 1
		case compressedBlock:
			size = maxBlock
		}
		bound += min(size, maxBlock)
		if _, b, err = skip(b, blockHeaderSize+stored); err != nil {
			return 0, nil, err
		}
	}
	return bound, b, nil
}

func skip(b []byte, n int64) (bound int64, rest []byte, err error) {
	if n > int64(len(b)) {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, b[n:], nil
}
