package blob

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	// HeaderSize is the length of the header of a blob that is not encrypted:
	// magic and CRC.
	HeaderSize = 12

	// EncryptedHeaderSize is the length of the header of an encrypted blob:
	// magic, CRC, IV and tag.
	EncryptedHeaderSize = HeaderSize + ivSize + tagSize

	// MaxSize is the largest decoded payload of a blob, in bytes.
	MaxSize = 128 << 20

	ivSize  = 16
	tagSize = 16
)

// Header is the part of a blob in front of its payload.
type Header struct {
	Kind Kind

	// CRC is the CRC-32 (IEEE) of all bytes after the header.
	CRC uint32

	// IV and Tag belong to AES-256-GCM; they are zero unless Kind is encrypted.
	IV  [ivSize]byte
	Tag [tagSize]byte
}

// ParseHeader reads the header at the beginning of a stored blob. It looks at no
// byte after it. The error unwraps to ErrCorrupt.
func ParseHeader(stored []byte) (Header, error) {
	if len(stored) < HeaderSize {
		return Header{}, fmt.Errorf("%w: %d bytes are no header", ErrCorrupt, len(stored))
	}
	kind, known := kindOf(magic(stored))
	if !known {
		return Header{}, fmt.Errorf("%w: unknown magic %x", ErrCorrupt, stored[:magicSize])
	}
	h := Header{Kind: kind, CRC: binary.LittleEndian.Uint32(stored[magicSize:])}
	if len(stored) < h.Size() {
		return Header{}, fmt.Errorf("%w: %d bytes are no header of an encrypted blob", ErrCorrupt, len(stored))
	}
	if kind.Encrypted() {
		copy(h.IV[:], stored[HeaderSize:])
		copy(h.Tag[:], stored[HeaderSize+ivSize:])
	}
	return h, nil
}

// Size returns the length of the header in bytes.
func (h Header) Size() int { return h.Kind.headerSize() }

// VerifyCRC checks the header of a stored blob and the CRC of what follows, and
// needs no key for that. The error unwraps to ErrCorrupt. It finds damage, not
// tampering; and data that is stored under the wrong name passes.
func VerifyCRC(stored []byte) error {
	_, err := verify(stored)
	return err
}

func verify(stored []byte) (Header, error) {
	h, err := ParseHeader(stored)
	if err != nil {
		return Header{}, err
	}
	if crc := crc32.ChecksumIEEE(stored[h.Size():]); crc != h.CRC {
		return Header{}, fmt.Errorf("%w: CRC is %08x, the header says %08x", ErrCorrupt, crc, h.CRC)
	}
	return h, nil
}

// seal writes magic and CRC into the header of a blob whose payload is complete.
func seal(stored []byte, kind Kind) {
	m := kind.magic()
	copy(stored, m[:])
	crc := crc32.ChecksumIEEE(stored[kind.headerSize():])
	binary.LittleEndian.PutUint32(stored[magicSize:], crc)
}
