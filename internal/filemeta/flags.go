package filemeta

import (
	"golang.org/x/sys/unix"
)

// flagBit says which bit of an entry's flags stands for which one of the file system.
type flagBit struct {
	stored uint64
	system uint32
	when   flagTime
}

type flagTime int

const (
	last  flagTime = iota // of a file that is complete: some of them keep it from being changed
	early                 // of an empty file, for they say how content is kept
	never                 // stored, and not restored by the original either
)

// chattrBits are the attributes of chattr(1).
var chattrBits = [...]flagBit{ //nolint:gochecknoglobals // a table
	{0x1_0000, flagAppend, last},     // append only
	{0x2_0000, 0x80, early},          // no time of access
	{0x4_0000, 0x4, early},           // compressed
	{0x8_0000, 0x800000, early},      // no copy on write
	{0x10_0000, 0x40, never},         // no dump
	{0x20_0000, 0x10000, last},       // synchronous directory
	{0x40_0000, flagImmutable, last}, // immutable
	{0x80_0000, 0x8, last},           // synchronous
	{0x100_0000, 0x400, early},       // not compressed
	{0x200_0000, 0x20000000, early},  // project id is inherited
}

const (
	flagAppend    = 0x20
	flagImmutable = 0x10
)

// fatBits are the attributes of FAT: hidden, system, archive.
var fatBits = [...]flagBit{ //nolint:gochecknoglobals // a table
	{0x2000, 0x2, last}, {0x4000, 0x4, last}, {0x8000, 0x20, last},
}

// The FAT calls, which package unix does not have. Their direction is encoded as in FS_IOC_GETFLAGS and FS_IOC_SETFLAGS.
const (
	directionBits = 0xe0000000
	fatGet        = unix.FS_IOC_GETFLAGS&directionBits | 4<<16 | 'r'<<8 | 0x10
	fatSet        = unix.FS_IOC_SETFLAGS&directionBits | 4<<16 | 'r'<<8 | 0x11
)

// readFlags gives the stored form of what the file system says, without what it does not know.
func readFlags(fd int, system FileSystem) (uint64, error) {
	flags, err := collectFlags(fd, unix.FS_IOC_GETFLAGS, chattrBits[:])
	if err != nil || !system.hasFATAttributes() {
		return flags, err
	}
	fat, err := collectFlags(fd, fatGet, fatBits[:])
	return flags | fat, err
}

func collectFlags(fd int, request uint, bits []flagBit) (flags uint64, err error) {
	value, err := getFlags(fd, request)
	if isUnsupported(err) {
		return 0, nil
	}
	for _, bit := range bits {
		if value&bit.system != 0 {
			flags |= bit.stored
		}
	}
	return flags, err
}

func getFlags(fd int, request uint) (value uint32, err error) {
	err = again(func() (err error) {
		value, err = unix.IoctlGetUint32(fd, request)
		return err
	})
	return value, err
}

// isUnsupported tells that a file system, or an object on it, has no such thing.
func isUnsupported(err error) bool {
	switch err {
	case unix.ENOTTY, unix.ENOSYS, unix.EBADF, unix.EOPNOTSUPP, unix.EINVAL:
		return true
	}
	return false
}

// addFlags sets those bits that are stored and belong to the time, beside what is set already. It tells nothing where nothing is to be set.
func addFlags(fd int, get, set uint, bits []flagBit, stored uint64, when ...flagTime) error {
	var want uint32
	for _, bit := range bits {
		for _, w := range when {
			if stored&bit.stored != 0 && bit.when == w {
				want |= bit.system
			}
		}
	}
	if want == 0 {
		return nil
	}
	value, err := getFlags(fd, get)
	if err == nil && value&want != want {
		err = again(func() error { return unix.IoctlSetPointerInt(fd, set, int(value|want)) })
	}
	if isUnsupported(err) {
		return errUnsupported
	}
	return err
}
