package fsop

import (
	"os"

	"golang.org/x/sys/unix"
)

// Remove removes a name that is not a directory. A symbolic link is removed
// itself. What is not there is reported as [fs.ErrNotExist].
func (d *Disk) Remove(dir *os.File, name string) error {
	return d.unlink(OpRemove, dir, name, 0)
}

// Rmdir removes an empty directory. What is not there is reported as
// [fs.ErrNotExist], a directory with something in it as ENOTEMPTY.
func (d *Disk) Rmdir(dir *os.File, name string) error {
	return d.unlink(OpRmdir, dir, name, unix.AT_REMOVEDIR)
}

func (d *Disk) unlink(op Op, dir *os.File, name string, flags int) error {
	c, err := at(op, dir, name)
	if err != nil {
		return err
	}
	return d.do(c, func() error {
		err := withFD(dir, func(fd int) error { return unix.Unlinkat(fd, name, flags) })
		if flags == unix.AT_REMOVEDIR && err == unix.EEXIST {
			return unix.ENOTEMPTY // POSIX allows both answers, and some file systems give the other
		}
		return err
	})
}
