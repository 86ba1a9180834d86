package catalog

import (
	"errors"
	"fmt"
	"io"
)

// ErrCorrupt means that the bytes are no catalog, or a damaged one.
var ErrCorrupt = errors.New("corrupt catalog")

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

const (
	maxUintBytes = 10
	maxIntBytes  = 11 // with the zero of a negative number
)

func appendUint(b []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

func appendInt(b []byte, v int64) []byte {
	if v >= 0 {
		return appendUint(b, uint64(v))
	}
	for rest := -uint64(v); rest > 0; rest >>= 7 {
		b = append(b, byte(rest)|0x80)
	}
	return append(b, 0)
}

// readUint reads a number. What is beyond 64 bits is lost, as in the original.
func readUint(r io.ByteReader) (uint64, error) {
	var v uint64
	for i := range maxUintBytes {
		c, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		v |= uint64(c&0x7f) << (7 * i & 63)
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, corruptf("number without its end")
}

func readInt(r io.ByteReader) (int64, error) {
	var v uint64
	for i := range maxIntBytes {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case c == 0:
			return -int64(v), nil
		}
		v |= uint64(c&0x7f) << (7 * i & 63)
		if c < 0x80 {
			return int64(v), nil
		}
	}
	return 0, corruptf("number without its end")
}
