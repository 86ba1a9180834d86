package blob

import "strconv"

// Kind says how the payload of a blob is stored.
type Kind int

// The four kinds, each with a magic of its own.
const (
	Plain         Kind = iota // the data itself
	Zstd                      // compressed
	Encrypted                 // encrypted
	ZstdEncrypted             // compressed, then encrypted
)

const magicSize = 8

type magic [magicSize]byte

// Each magic is the first 8 bytes of the SHA-256 of the sentence beside it.
func (k Kind) magic() magic {
	switch k {
	case Zstd: // Proxmox Backup zstd compressed blob v1.0
		return magic{0x31, 0xb9, 0x58, 0x42, 0x6f, 0xb6, 0xa3, 0x7f}
	case Encrypted: // Proxmox Backup encrypted blob v1.0
		return magic{0x7b, 0x67, 0x85, 0xbe, 0x22, 0x2d, 0x4c, 0xf0}
	case ZstdEncrypted: // Proxmox Backup zstd compressed encrypted blob v1.0
		return magic{0xe6, 0x59, 0x1b, 0xbf, 0x0b, 0xbf, 0xd8, 0x0b}
	default: // Proxmox Backup uncompressed blob v1.0
		return magic{0x42, 0xab, 0x38, 0x07, 0xbe, 0x83, 0x70, 0xa1}
	}
}

func kindOf(m magic) (kind Kind, known bool) {
	for k := Plain; k <= ZstdEncrypted; k++ {
		if m == k.magic() {
			return k, true
		}
	}
	return 0, false
}

// Encrypted reports whether the payload is encrypted.
func (k Kind) Encrypted() bool { return k == Encrypted || k == ZstdEncrypted }

// Compressed reports whether the payload is compressed (below any encryption).
func (k Kind) Compressed() bool { return k == Zstd || k == ZstdEncrypted }

// String names the kind for people.
func (k Kind) String() string {
	switch k {
	case Plain:
		return "plain"
	case Zstd:
		return "zstd"
	case Encrypted:
		return "encrypted"
	case ZstdEncrypted:
		return "zstd, encrypted"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

func (k Kind) headerSize() int {
	if k.Encrypted() {
		return EncryptedHeaderSize
	}
	return HeaderSize
}
