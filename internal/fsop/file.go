package fsop

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A File is a new file on its way to a disk. Close keeps it under the name it
// was made with, Commit gives it another, Discard removes it; one of the three
// must be called. After a successful Close or Commit, Discard does nothing, so
// a deferred Discard is always right.
//
// The directory that it was made in must stay open until then. WriteAt and
// ReadAt may be called concurrently, everything else not.
type File struct {
	disk *Disk
	dir  *os.File
	name string
	f    *os.File
	kept bool
}

// Create makes the file name in dir, open for reading and writing, with
// exactly the permissions of mode and the owner of the Disk. What is there
// already, a dangling symbolic link too, is left alone and reported as
// [fs.ErrExist]. After an error there is no new file.
func (d *Disk) Create(dir *os.File, name string, mode fs.FileMode) (*File, error) {
	c, err := at(OpCreate, dir, name)
	if err != nil {
		return nil, err
	}
	n := &File{disk: d, dir: dir, name: name}
	err = d.do(c, func() (err error) {
		n.f, err = openAt(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, uint32(mode.Perm()))
		return err
	})
	if err == nil {
		err = d.settle(n.f, mode)
	}
	if err == nil {
		return n, nil
	}
	if n.f == nil {
		return nil, err // nothing was made
	}
	return nil, withCleanup(err, n.Discard())
}

// tempAttempts is how many random names are tried. There are 62^6 of them, so
// a second one is needed hardly ever and a third one means trouble.
const tempAttempts = 16

// CreateTemp is [Disk.Create] with a name made of prefix and six random
// letters or digits: "index.json.tmp_" may give "index.json.tmp_a1B2c3".
func (d *Disk) CreateTemp(dir *os.File, prefix string, mode fs.FileMode) (*File, error) {
	var f *File
	var err error
	for range tempAttempts {
		f, err = d.Create(dir, prefix+randomSuffix(), mode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

func randomSuffix() string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	var b [6]byte
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b[:])
}

// TempPrefix is the prefix for temporary files that are to become name: name
// without its extension, and ".tmp_". So it is "index.json.tmp_" for
// "index.json.blob" and "owner.tmp_" for "owner". A leading dot begins no
// extension. Such names end in nothing that a reader of a datastore looks for.
func TempPrefix(name string) string {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	return name + ".tmp_"
}

// Name is the present name of the file in its directory.
func (f *File) Name() string { return f.name }

// Path is the name of the file with that of its directory, for messages.
func (f *File) Path() string { return pathOf(f.dir, f.name) }

// File is the open file, for what this type has no method for. It must not be
// closed, and what is written through it is not seen by the hooks.
func (f *File) File() *os.File { return f.f }

// Write appends to what was written before. It is one change, whatever its size.
func (f *File) Write(p []byte) (n int, err error) {
	err = f.disk.do(f.change(OpWrite), func() (err error) {
		n, err = f.f.Write(p)
		return err
	})
	return n, err
}

// WriteAt writes at an offset in bytes. It is one change, whatever its size.
func (f *File) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.disk.do(f.change(OpWrite), func() (err error) {
		n, err = f.f.WriteAt(p, off)
		return err
	})
	return n, err
}

// ReadAt reads at an offset in bytes, see [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// Truncate changes the size of the file, in bytes.
func (f *File) Truncate(size int64) error {
	return f.disk.do(f.change(OpTruncate), func() error { return f.f.Truncate(size) })
}

// Sync waits until the content is on disk. After an error the kernel may have
// thrown the written pages away and answer nil to the next try: the file must
// be discarded, never synced again.
func (f *File) Sync() error {
	return f.disk.do(f.change(OpSync), func() error { return f.f.Sync() })
}

// Close closes the file and keeps it under its name. After an error its
// content is uncertain and Discard still removes it.
func (f *File) Close() error {
	err := f.disk.do(f.change(OpClose), func() error { return f.f.Close() })
	if err == nil {
		f.kept = true
	}
	return err
}

// Discard closes and removes the file. It does nothing after a successful
// Close or Commit or when the file is gone already, and may be called again
// after an error.
func (f *File) Discard() error {
	if f.kept {
		return nil
	}
	// Nobody wants the content any more: what Close says about it, or that the
	// file is closed already, is no news.
	_ = f.f.Close()
	if err := f.disk.Remove(f.dir, f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.kept = true
	return nil
}

func (f *File) change(op Op) Change { return Change{Op: op, Path: f.Path()} }
