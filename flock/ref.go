package flock

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

// Ref names what is to be locked: a directory or a regular file.
//
// With Dir, Name is a name below that open directory, in its shortest form, and
// no symbolic link is followed; "." is the directory itself. Dir is only used,
// never closed; it has to stay open for as long as Check of a guard is called.
// Without Dir, Name is an ordinary path, and links in it are followed.
type Ref struct {
	Dir  *os.File
	Name string
}

// String returns the path for messages.
func (r Ref) String() string {
	switch {
	case r.Dir == nil:
		return r.Name
	case r.Name == ".":
		return r.Dir.Name()
	default:
		return strings.TrimSuffix(r.Dir.Name(), "/") + "/" + r.Name
	}
}

// openAny opens a directory or a regular file. The first open is for directories
// only, so that whatever else is there is not opened before it was looked at.
func (r Ref) openAny(flag int) (int, error) {
	fd, err := r.openDir()
	if err != nil && errnoOf(err) == unix.ENOTDIR {
		return r.openRegular(flag)
	}
	return fd, err
}

func (r Ref) openDir() (int, error) {
	if r.Dir != nil {
		return beneath.OpenFD(r.Dir, r.Name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	return openPath(r.Name, unix.O_RDONLY|unix.O_DIRECTORY)
}

func (r Ref) openRegular(flag int) (int, error) {
	if r.Dir != nil {
		return beneath.OpenRegularFD(r.Dir, r.Name, flag)
	}
	return openRegularPath(r.Name, flag)
}

// stat follows links exactly where the opens do.
func (r Ref) stat(st *unix.Stat_t) (err error) {
	if r.Dir != nil {
		*st, err = beneath.Stat(r.Dir, r.Name)
		return err
	}
	err = again(func() error { return unix.Stat(r.Name, st) })
	return pathError("stat", r.Name, err)
}
