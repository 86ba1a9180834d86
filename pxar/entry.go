package pxar

import (
	"encoding/binary"
	"time"
)

// Kind is what an entry is. It is decided by the items of the entry, not by its mode.
type Kind int

// The kinds; the zero value is none of them.
const (
	Directory Kind = iota + 1
	File
	Symlink
	Hardlink
	Device // a character or a block device, see [Entry.IsBlock]
	FIFO
	Socket
)

// String returns "directory", "file", "symlink", "hardlink", "device", "fifo" or "socket".
func (k Kind) String() string {
	names := [...]string{"unknown kind", "directory", "file", "symlink", "hardlink", "device", "fifo", "socket"}
	if k < 0 || int(k) >= len(names) {
		return names[0]
	}
	return names[k]
}

// The type bits of a mode, as Linux has them.
const (
	modeType   = 0o170000
	modeFIFO   = 0o010000
	modeDir    = 0o040000
	modeBlock  = 0o060000
	modeSocket = 0o140000
)

// Stat is what every entry but a hard link has.
type Stat struct {
	// Mode is st_mode, with the type bits.
	Mode uint64
	// Flags are the format's own bits for chattr and FAT attributes.
	Flags    uint64
	UID, GID uint32
	// Seconds since 1970, rounded down, and the nanoseconds from there. The latter may be out of range in a hostile archive.
	Seconds     int64
	Nanoseconds uint32
}

// ModTime is the time of the last change.
func (s Stat) ModTime() time.Time { return time.Unix(s.Seconds, int64(s.Nanoseconds)) }

// Xattr is an extended attribute.
type Xattr struct {
	Name  string
	Value []byte
}

// Metadata is what an entry carries besides its name and content.
type Metadata struct {
	Stat

	// Xattrs are in the order of the archive, and may repeat a name.
	Xattrs []Xattr
	ACL    ACL
	// FCaps is the raw value of security.capability, nil if there is none.
	FCaps []byte
	// QuotaProject is the project id, nil if there is none.
	QuotaProject *uint64
}

// Entry is one entry of an archive.
type Entry struct {
	Metadata // zero for a hard link

	Kind Kind
	// Path begins with "/" and is that alone for the root. It may hold any bytes, control characters
	// and even NUL, but no empty part, "." or "..".
	Path string
	// Size of a file's content, in bytes.
	Size uint64
	// Target is where a symbolic link points, as it is, or the path of a hard link's first name, relative to the root. It
	// may be anything: what it leads to is for the reader to judge.
	Target string
	// LinkOffset tells, for a hard link, how far before its name the first name stands.
	LinkOffset uint64
	// Major and Minor are a device's numbers.
	Major, Minor uint64
	// Split tells that the content is in the payload stream, at PayloadOffset.
	Split         bool
	PayloadOffset uint64

	// where it is in the archive: its name, the items after the name, the first byte after it.
	name, start, end uint64
	content          uint64 // where an inline content begins
	hash             uint64 // under which the table of its directory has it
}

// Name is the last part of the path, "/" for the root.
func (e *Entry) Name() string {
	for i := len(e.Path) - 1; i >= 0; i-- {
		if e.Path[i] == '/' && len(e.Path) > 1 {
			return e.Path[i+1:]
		}
	}
	return e.Path
}

// Position is where the entry's name begins in the archive; what [Entry.LinkOffset] counts from.
func (e *Entry) Position() uint64 { return e.name }

// IsBlock tells a block device from a character device.
func (e *Entry) IsBlock() bool { return e.Mode&modeType == modeBlock }

func parseStat(b []byte) Stat {
	return Stat{
		Mode: binary.LittleEndian.Uint64(b), Flags: binary.LittleEndian.Uint64(b[8:]),
		UID: binary.LittleEndian.Uint32(b[16:]), GID: binary.LittleEndian.Uint32(b[20:]),
		Seconds: int64(binary.LittleEndian.Uint64(b[24:])), Nanoseconds: binary.LittleEndian.Uint32(b[32:]),
	}
}

// parseStatV1 reads the form that was in use before there was a release: nanoseconds since 1970.
func parseStatV1(b []byte) Stat {
	nanos := binary.LittleEndian.Uint64(b[24:])
	s := parseStat(append(b[:24:24], make([]byte, entrySize-24)...))
	s.Seconds, s.Nanoseconds = int64(nanos/1e9), uint32(nanos%1e9)
	return s
}

func (s Stat) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, s.Mode)
	b = binary.LittleEndian.AppendUint64(b, s.Flags)
	b = binary.LittleEndian.AppendUint32(b, s.UID)
	b = binary.LittleEndian.AppendUint32(b, s.GID)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Seconds))
	b = binary.LittleEndian.AppendUint32(b, s.Nanoseconds)
	return binary.LittleEndian.AppendUint32(b, 0)
}
