package chunkstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
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

// Directory is one of the directories of chunks, as it was read.
type Directory struct {
	// Number is what the four hex digits of its name say.
	Number int
	// Files is everything in it, in order of name.
	Files []File

	store *Store
	dir   *os.File
}

// Walk reads the chunk directories in order of name, each once, and calls visit
// with one after the other; which, if not nil, tells the numbers of those to read.
// A Directory is good until visit returns. Directories that are missing are
// passed over. The first error ends the walk: of visit, of ctx, or of reading; one
// that unwraps to [ErrForeign] says that something else has a directory's name.
//
// Names that appear or vanish while a directory is read may be missed. Who
// removes chunks holds [Store.LockExclusive].
func (s *Store) Walk(ctx context.Context, which func(number int) bool, visit func(*Directory) error) error {
	numbers, err := s.directories()
	if err != nil {
		return err
	}
	for _, number := range numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if which != nil && !which(number) {
			continue
		}
		if err := s.visit(number, visit); err != nil {
			return err
		}
	}
	return nil
}

// directories lists the chunk directories that there are.
func (s *Store) directories() ([]int, error) {
	dir, err := beneath.OpenDir(s.chunks, ".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, 0, len(names))
	for _, name := range names {
		if number, ok := prefixNumber(name); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func prefixNumber(name string) (number int, ok bool) {
	if len(name) != prefixLen {
		return 0, false
	}
	for _, c := range []byte(name) {
		digit := strings.IndexByte(hexDigits, c)
		if digit < 0 {
			return 0, false
		}
		number = number<<4 | digit
	}
	return number, true
}

const hexDigits = "0123456789abcdef"

func prefixName(number int) string {
	return string([]byte{hexDigits[number>>12&15], hexDigits[number>>8&15], hexDigits[number>>4&15], hexDigits[number&15]})
}

func (s *Store) visit(number int, visit func(*Directory) error) error {
	dir, err := beneath.OpenDir(s.chunks, prefixName(number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return foreign(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	slices.Sort(names)
	d := &Directory{Number: number, Files: make([]File, len(names)), store: s, dir: dir}
	for i, name := range names {
		d.Files[i] = parseFile(number, name)
	}
	return visit(d)
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

// Stat tells about a file of the directory. One that has gone is fs.ErrNotExist.
func (d *Directory) Stat(f File) (FileInfo, error) {
	st, err := beneath.Stat(d.dir, f.Name)
	if err != nil {
		return FileInfo{}, err
	}
	return infoOf(st), nil
}

func infoOf(st unix.Stat_t) FileInfo {
	info := FileInfo{Size: st.Size, Regular: st.Mode&unix.S_IFMT == unix.S_IFREG, Inode: st.Ino}
	for _, stamp := range []unix.Timespec{st.Atim, st.Mtim, st.Ctim} {
		if t := time.Unix(stamp.Unix()); t.After(info.Newest) {
			info.Newest = t
		}
	}
	return info
}

// Remove removes a file of the directory. One that has gone is fs.ErrNotExist.
func (d *Directory) Remove(f File) error { return d.store.disk.Remove(d.dir, f.Name) }

// Touch sets a file's time of last access to now. One that has gone is fs.ErrNotExist.
func (d *Directory) Touch(f File) error { return d.store.disk.Touch(d.dir, f.Name) }
