package pxar

import (
	"encoding/binary"
	"math/bits"
)

// The key of the hash that orders goodbye tables.
const (
	hashKey0 = 0x83ac3f1cfbb450db
	hashKey1 = 0xaa4f1b6879369fbd
)

// hashName is SipHash-2-4 of a name.
func hashName(name string) uint64 {
	s := sipState{
		hashKey0 ^ 0x736f6d6570736575, hashKey1 ^ 0x646f72616e646f6d,
		hashKey0 ^ 0x6c7967656e657261, hashKey1 ^ 0x7465646279746573,
	}
	last := uint64(len(name)) << 56
	var word [8]byte
	for ; len(name) >= 8; name = name[8:] {
		copy(word[:], name)
		s.mix(binary.LittleEndian.Uint64(word[:]))
	}
	word = [8]byte{}
	copy(word[:], name)
	s.mix(last | binary.LittleEndian.Uint64(word[:]))
	s[2] ^= 0xff
	for range 4 {
		s.round()
	}
	return s[0] ^ s[1] ^ s[2] ^ s[3]
}

type sipState [4]uint64

func (s *sipState) mix(m uint64) {
	s[3] ^= m
	s.round()
	s.round()
	s[0] ^= m
}

func (s *sipState) round() {
	s[0] += s[1]
	s[2] += s[3]
	s[1] = bits.RotateLeft64(s[1], 13) ^ s[0]
	s[3] = bits.RotateLeft64(s[3], 16) ^ s[2]
	s[0] = bits.RotateLeft64(s[0], 32)
	s[2] += s[1]
	s[0] += s[3]
	s[1] = bits.RotateLeft64(s[1], 17) ^ s[2]
	s[3] = bits.RotateLeft64(s[3], 21) ^ s[0]
	s[2] = bits.RotateLeft64(s[2], 32)
}
