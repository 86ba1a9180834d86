package archiver

import (
	"errors"

	"golang.org/x/sys/unix"
)

// errMoved means that a directory could not be found again on the way back from deep below it.
var errMoved = errors.New("its directory was moved while what is below it was read")

// reopen opens the last level again, which is the parent of below. If neither way leads there, it stays
// closed, and each entry that is left in it says so.
func (w *walk) reopen(below *level) {
	up := w.levels[len(w.levels)-1]
	if below.dir != nil {
		if fd, err := openSame(below.dir.fd, "..", up); err == nil {
			up.dir = newDirectory(fd)
			return
		}
	}
	if fd, err := w.descend(); err == nil {
		up.dir = newDirectory(fd)
	}
}

// descend goes from the root down to the last level.
func (w *walk) descend() (fd int, err error) {
	fd = w.levels[0].dir.fd
	for i, l := range w.levels[1:] {
		next, err := openSame(fd, l.where.name, l)
		if i > 0 {
			_ = unix.Close(fd)
		}
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// openSame opens a directory if it is still the one of the level.
func openSame(dirfd int, name string, l *level) (int, error) {
	fd, err := openRead(dirfd, name, unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	err = again(func() error { return unix.Fstat(fd, &st) })
	if err == nil && inodeOf(&st) != l.inode {
		err = errMoved
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
