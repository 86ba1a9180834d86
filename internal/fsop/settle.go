package fsop

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

var (
	errManyNames = errors.New("has several names, of which one may be somewhere else")
	errNotPlain  = errors.New("neither a file nor a directory")
)

// Settle gives a file or directory that is there the owner of the Disk and these
// permissions, as far as it hasn't got them. The rest of it stays as it is.
//
// What is neither, such as a symbolic link, is refused, and so is a file with
// several names: whoever may make links in the directory could have us give away a
// file that lies elsewhere.
func (d *Disk) Settle(dir *os.File, name string, mode fs.FileMode) error {
	if _, err := at(OpChmod, dir, name); err != nil {
		return err
	}
	// O_PATH: nothing is opened, be it a pipe or a file that nobody may read.
	f, err := openAt(dir, name, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := fstat(f)
	if err != nil {
		return err
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFREG && st.Nlink > 1:
		return &fs.PathError{Op: string(OpChmod), Path: f.Name(), Err: errManyNames}
	case kind != unix.S_IFREG && kind != unix.S_IFDIR:
		return &fs.PathError{Op: string(OpChmod), Path: f.Name(), Err: errNotPlain}
	}
	return d.settle(f, mode)
}
