package goldenspec

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
)

// generator appends to dst until it has size bytes, from the numbers in front
// of LEN.
type generator struct {
	args int // numbers, LEN included
	fill func(dst []byte, n []uint64, size int) ([]byte, error)
}

func generatorOf(kind string) (g generator, known bool) {
	switch kind {
	case "zero":
		return generator{1, zero}, true
	case "const":
		return generator{2, constant}, true
	case "xs64":
		return generator{2, xs64}, true
	case "rep":
		return generator{3, repeated}, true
	case "ctr32":
		return generator{1, counter}, true
	case "text":
		return generator{2, text}, true
	}
	return generator{}, false
}

// xorshift is the state of xorshift64*.
type xorshift uint64

func (x *xorshift) next() uint64 {
	s := uint64(*x)
	s ^= s >> 12
	s ^= s << 25
	s ^= s >> 27
	*x = xorshift(s)
	return s * 0x2545F4914F6CDD1D
}

func zero(dst []byte, _ []uint64, size int) ([]byte, error) {
	return append(dst, make([]byte, size-len(dst))...), nil
}

func constant(dst []byte, n []uint64, size int) ([]byte, error) {
	if n[0] > 0xff {
		return nil, errors.New("const of more than one byte")
	}
	return append(dst, slices.Repeat([]byte{byte(n[0])}, size-len(dst))...), nil
}

func xs64(dst []byte, n []uint64, size int) ([]byte, error) {
	return fill(dst, size, n[0], func(b []byte, x uint64) []byte {
		return binary.LittleEndian.AppendUint64(b, x)
	}), nil
}

func repeated(dst []byte, n []uint64, size int) ([]byte, error) {
	if n[1] == 0 || n[1] > MaxLen {
		return nil, errors.New("rep of no or too many bytes")
	}
	return fill(dst, size, n[0], func(b []byte, x uint64) []byte {
		end := min(size, len(b)+int(n[1]))
		for len(b) < end {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		return b[:end]
	}), nil
}

func counter(dst []byte, _ []uint64, size int) ([]byte, error) {
	dst = slices.Grow(dst, size-len(dst)+4)
	for i := uint32(0); len(dst) < size; i++ {
		dst = binary.LittleEndian.AppendUint32(dst, i)
	}
	return dst[:size], nil
}

func text(dst []byte, n []uint64, size int) ([]byte, error) {
	words := 0
	return fill(dst, size, n[0], func(b []byte, x uint64) []byte {
		b = strconv.AppendUint(append(b, 'w'), x%1000, 10)
		if words++; words%12 == 0 {
			return append(b, '\n')
		}
		return append(b, ' ')
	}), nil
}

// fill appends one piece for each output of the generator, and cuts off what
// is beyond size.
func fill(dst []byte, size int, seed uint64, piece func([]byte, uint64) []byte) []byte {
	dst = slices.Grow(dst, size-len(dst)+8)
	x := xorshift(seed)
	for len(dst) < size {
		dst = piece(dst, x.next())
	}
	return dst[:size]
}
