package chunkstore

import (
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

// Directory is one of the directories of chunks, as it was read.
type Directory struct {
	// Number is what the four hex digits of its name say.
	Number int
	// Files is everything in it, in order of name.
	Files []File

	store *Store
	fd    int
	file  *os.File // owns fd, where a change needed one
}

func (d *Directory) path() string { return d.store.chunks.Name() + "/" + prefixName(d.Number) }

// read makes the list of files. A name that comes twice, as one can that is renamed
// while the directory is read, is one file.
func (d *Directory) read(names []string) {
	slices.Sort(names)
	names = slices.Compact(names)
	d.Files = make([]File, len(names))
	for i, name := range names {
		d.Files[i] = parseFile(d.Number, name)
	}
}

// asFile gives the descriptor to an *os.File: only few directories need one.
func (d *Directory) asFile() *os.File {
	if d.file == nil {
		d.file = os.NewFile(uintptr(d.fd), d.path())
	}
	return d.file
}

func (d *Directory) close() {
	if d.file != nil {
		_ = d.file.Close() // it was not written to
		return
	}
	_ = unix.Close(d.fd)
}

// Stat tells about a file of the directory. One that has gone is fs.ErrNotExist.
func (d *Directory) Stat(f File) (FileInfo, error) {
	st, err := beneath.StatFD(d.fd, f.Name)
	if err != nil {
		return FileInfo{}, &fs.PathError{Op: "fstatat", Path: d.path() + "/" + f.Name, Err: err}
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
func (d *Directory) Remove(f File) error { return d.store.disk.Remove(d.asFile(), f.Name) }

// Touch sets a file's time of last access to now. One that has gone is fs.ErrNotExist.
func (d *Directory) Touch(f File) error { return d.store.disk.Touch(d.asFile(), f.Name) }
