package catalog

import "github.com/pbs-like/pbs-like/pxar"

// Kind is what an entry is: the letter that the format has for it.
type Kind byte

// The kinds; the zero value is none of them.
const (
	Directory   Kind = 'd'
	File        Kind = 'f'
	Symlink     Kind = 'l'
	Hardlink    Kind = 'h'
	BlockDevice Kind = 'b'
	CharDevice  Kind = 'c'
	FIFO        Kind = 'p'
	Socket      Kind = 's'
)

// String returns "directory", "file", "symlink", "hardlink", "block device", "character device", "fifo" or "socket".
func (k Kind) String() string {
	switch k {
	case Directory:
		return "directory"
	case File:
		return "file"
	case Symlink:
		return "symlink"
	case Hardlink:
		return "hardlink"
	case BlockDevice:
		return "block device"
	case CharDevice:
		return "character device"
	case FIFO:
		return "fifo"
	case Socket:
		return "socket"
	}
	return "unknown kind"
}

func (k Kind) valid() bool { return k.String() != Kind(0).String() }

// Entry is one entry of a directory.
type Entry struct {
	Kind Kind
	Name string
	// Size, in bytes, and ModTime, in seconds since 1970, are of files only.
	Size    uint64
	ModTime int64

	block uint64 // of a directory
}

const (
	magicSize   = 8
	pointerSize = 8
	maxName     = 4095
)

// magic begins a catalog.
func magic() [magicSize]byte { return [magicSize]byte{0x91, 0xfd, 0x60, 0xf9, 0xc4, 0x67, 0x58, 0xd5} }

// KindOf is the kind that an entry of an archive has in a catalog.
func KindOf(e *pxar.Entry) Kind {
	switch e.Kind {
	case pxar.File:
		return File
	case pxar.Symlink:
		return Symlink
	case pxar.Hardlink:
		return Hardlink
	case pxar.FIFO:
		return FIFO
	case pxar.Socket:
		return Socket
	case pxar.Device:
		if e.IsBlock() {
			return BlockDevice
		}
		return CharDevice
	case pxar.Directory:
	}
	return Directory
}
