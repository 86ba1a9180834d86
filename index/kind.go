package index

import (
	"strconv"

	"github.com/pbs-like/pbs-like/digest"
)

// Kind says how an index cuts its archive into chunks.
type Kind int

// The two kinds, each with a magic and a file extension of its own.
const (
	Fixed   Kind = iota // chunks of one size, .fidx
	Dynamic             // chunks of any size, .didx
)

const (
	magicSize = 8
	offsetLen = 8
)

type magic [magicSize]byte

// Each magic is the first 8 bytes of the SHA-256 of the sentence beside it.
func (k Kind) magic() magic {
	if k == Dynamic { // Proxmox Backup dynamic sized chunk index v1.0
		return magic{0x1c, 0x91, 0x4e, 0xa5, 0x19, 0xba, 0xb3, 0xcd}
	}
	// Proxmox Backup fixed sized chunk index v1.0
	return magic{0x2f, 0x7f, 0x41, 0xed, 0x91, 0xfd, 0x0f, 0xcd}
}

// entrySize returns the bytes that one chunk takes in the file.
func (k Kind) entrySize() int {
	if k == Dynamic {
		return offsetLen + digest.Size
	}
	return digest.Size
}

func (k Kind) other() Kind {
	if k == Dynamic {
		return Fixed
	}
	return Dynamic
}

func (k Kind) valid() bool { return k == Fixed || k == Dynamic }

// String names the kind for people.
func (k Kind) String() string {
	switch k {
	case Fixed:
		return "fixed"
	case Dynamic:
		return "dynamic"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}
