package chunkstore

import (
	"strings"
	"time"

	"github.com/pbs-like/pbs-like/digest"
)

// FileKind says what a file in a chunk directory is, by its name alone.
type FileKind int

// The kinds of file. Only the first is ever read as a chunk.
const (
	OtherFile   FileKind = iota // nothing that this package knows, also a chunk in the wrong directory
	ChunkFile                   // <64 hex>
	BadFile                     // <64 hex>.N.bad: found damaged by a verification
	TempFile                    // <64 hex>.tmp_XXXXXX: a chunk that is, or was, being written
	UsingMarker                 // <64 hex>.using: only the local cache of an object store has these
)

// badSuffix, with a digit in front, follows the name of a chunk that was found damaged.
const badSuffix = ".bad"

// File is one name in a chunk directory.
type File struct {
	Name   string
	Kind   FileKind
	Digest digest.Digest // that the name begins with; zero for OtherFile
}

// FileInfo is what the file system knows of a File.
type FileInfo struct {
	Size    int64
	Regular bool      // false for whatever is no plain file; such a thing was not followed or opened
	Inode   uint64    // tells whether a name still leads to what it led to
	Newest  time.Time // the newest of the times of access, of change of content, and of change of status
}

// parseFile tells what a name in a chunk directory means.
func parseFile(number int, name string) File {
	other := File{Name: name}
	if len(name) < digest.HexLen {
		return other
	}
	d, err := digest.Parse(name[:digest.HexLen])
	if err != nil || int(d[0])<<8|int(d[1]) != number {
		return other
	}
	if kind := kindOf(name[digest.HexLen:]); kind != OtherFile {
		return File{Name: name, Kind: kind, Digest: d}
	}
	return other
}

func kindOf(suffix string) FileKind {
	const digits = "0123456789"
	switch random, temp := strings.CutPrefix(suffix, tempSuffix); {
	case suffix == "":
		return ChunkFile
	case suffix == ".using":
		return UsingMarker
	case temp && len(random) == 6:
		return TempFile
	case len(suffix) == len(".N")+len(badSuffix) && suffix[0] == '.' && strings.IndexByte(digits, suffix[1]) >= 0 && suffix[2:] == badSuffix:
		return BadFile
	}
	return OtherFile
}
