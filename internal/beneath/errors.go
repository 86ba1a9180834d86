package beneath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

var (
	// ErrName is wrapped by the error for a name that is empty, absolute, has
	// ".." in it, or is not in its shortest form.
	ErrName = errors.New("not a name below a directory")

	// ErrSymlink is wrapped by the error for a name that is, or leads through,
	// a symbolic link.
	ErrSymlink = errors.New("is a symbolic link, or leads through one")

	// ErrNotRegular is wrapped by the error for a name that leads to something
	// other than a regular file where one is needed.
	ErrNotRegular = errors.New("not a regular file")
)

// notRegularError says what was found in place of a regular file.
type notRegularError struct{ mode uint32 }

func (e notRegularError) Error() string {
	return fmt.Sprintf("is a %s, %v", TypeName(e.mode), ErrNotRegular)
}

// Is lets a symbolic link count as both, so that a caller may ask either way.
func (e notRegularError) Is(target error) bool {
	return target == ErrNotRegular || target == ErrSymlink && e.mode&unix.S_IFMT == unix.S_IFLNK
}

// TypeName says what a mode of stat(2) stands for, such as "named pipe".
func TypeName(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFLNK:
		return "symbolic link"
	case unix.S_IFIFO:
		return "named pipe"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "device"
	default:
		return "file of unknown type"
	}
}

func pathError(op string, dir *os.File, name string, err error) error {
	return &fs.PathError{Op: op, Path: join(dir, name), Err: err}
}

// join is for messages and for File.Name only: no path is walked with it.
func join(dir *os.File, name string) string {
	switch base := dir.Name(); {
	case name == ".":
		return base
	case base == "/":
		return base + name
	default:
		return base + "/" + name
	}
}
