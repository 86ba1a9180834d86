package backupinfo

import (
	"errors"
	"fmt"
	"strings"
)

// ArchiveKind is how a file of a snapshot stores its data.
type ArchiveKind int

// The kinds; the zero value is none of them.
const (
	FixedIndex   ArchiveKind = iota + 1 // .fidx: chunks of one size, a disk image
	DynamicIndex                        // .didx: chunks cut by content, a stream
	Blob                                // .blob: the data itself, small
)

// Suffix returns the server's file name suffix: ".fidx", ".didx" or ".blob", and
// "" for no kind.
func (k ArchiveKind) Suffix() string {
	switch k {
	case FixedIndex:
		return ".fidx"
	case DynamicIndex:
		return ".didx"
	case Blob:
		return ".blob"
	}
	return ""
}

// String returns "fixed index", "dynamic index" or "blob".
func (k ArchiveKind) String() string {
	switch k {
	case FixedIndex:
		return "fixed index"
	case DynamicIndex:
		return "dynamic index"
	case Blob:
		return "blob"
	}
	return "unknown kind"
}

// ArchiveName is the name of one file of a snapshot, as the server stores it.
// Values compare with ==; the zero value is no file.
type ArchiveName struct {
	file string
	kind ArchiveKind
}

// maxFileName is what the file systems allow.
const maxFileName = 255

// ParseArchiveName reads what a user calls an archive: the server's file name,
// or the client's name, whose extension decides the kind. "root.pxar" and
// "root.pxar.didx" are the same archive. The manifest is not an archive and is
// refused.
func ParseArchiveName(s string) (ArchiveName, error) {
	if s == ManifestName || s+Blob.Suffix() == ManifestName {
		return ArchiveName{}, fmt.Errorf("archive name %s: is the manifest, not an archive", quote(s))
	}
	if kindOf(s) != 0 {
		return ParseFileName(s)
	}
	kind := clientKind(s)
	if kind == 0 {
		return ArchiveName{}, fmt.Errorf("archive name %s: unknown extension, known are %s", quote(s), knownExtensions)
	}
	return ParseFileName(s + kind.Suffix())
}

// knownExtensions is the table of clientKind for people.
const knownExtensions = ".pxar .mpxar .ppxar .pcat1 (stored as .didx), .img (.fidx), .conf .json .key .log (.blob), and .didx .fidx .blob themselves"

// clientKind is how the client stores a file with this name; 0 is unknown.
func clientKind(name string) ArchiveKind {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 {
		return 0
	}
	switch name[dot:] {
	case ".pxar", ".mpxar", ".ppxar", ".pcat1":
		return DynamicIndex
	case ".img":
		return FixedIndex
	case ".conf", ".json", ".key", ".log":
		return Blob
	}
	return 0
}

// kindOf tells the kind from the server's suffix; 0 is none.
func kindOf(file string) ArchiveKind {
	if len(file) < len(".blob") {
		return 0
	}
	switch file[len(file)-len(".blob"):] {
	case ".fidx":
		return FixedIndex
	case ".didx":
		return DynamicIndex
	case ".blob":
		return Blob
	}
	return 0
}

// ParseFileName reads a server file name found in a manifest or a directory. The
// name may come from an enemy: what it accepts is a plain file name of printable
// ASCII with one of the three suffixes, which neither leaves its directory nor is
// hidden nor looks like an option.
func ParseFileName(s string) (ArchiveName, error) {
	if err := checkFileName(s); err != nil {
		return ArchiveName{}, fmt.Errorf("file name %s: %w", quote(s), err)
	}
	kind := kindOf(s)
	if kind == 0 {
		return ArchiveName{}, fmt.Errorf("file name %s: must end in .fidx, .didx or .blob", quote(s))
	}
	return ArchiveName{s, kind}, nil
}

func checkFileName(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > maxFileName:
		return fmt.Errorf("is longer than %d bytes", maxFileName)
	case s[0] == '.' || s[0] == '-' || s[0] == ' ':
		return fmt.Errorf("begins with %q", s[0])
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '/' || c == '\\' {
			return fmt.Errorf("has %q at position %d", c, i+1)
		}
	}
	return nil
}

// File returns the server's file name, "root.pxar.didx".
func (a ArchiveName) File() string { return a.file }

// Kind returns how the file stores its data.
func (a ArchiveName) Kind() ArchiveKind { return a.kind }

// Display returns the client's name, "root.pxar", where [ParseArchiveName] reads
// it back as the same archive, and else the server's file name: "data.img.didx"
// cannot be shortened, since "data.img" means "data.img.fidx".
func (a ArchiveName) Display() string {
	short := strings.TrimSuffix(a.file, a.kind.Suffix())
	if kindOf(short) == 0 && clientKind(short) == a.kind && a.file != ManifestName {
		return short
	}
	return a.file
}

// IsManifest reports whether a is the manifest's own file.
func (a ArchiveName) IsManifest() bool { return a.file == ManifestName }
