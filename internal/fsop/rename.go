package fsop

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Rename moves a file or directory to a name that must be free. A target that
// exists, an empty directory too, is reported as [fs.ErrExist] and stays (a
// plain rename would silently replace an empty directory that somebody just
// made and locked). Nothing is synced.
//
// Some file systems can't refuse by themselves. There the name is looked at
// first, and somebody who makes it in the instant between loses it: callers
// that compete for a name must hold a lock.
func (d *Disk) Rename(fromDir *os.File, from string, toDir *os.File, to string) error {
	c, err := between(OpRename, fromDir, from, toDir, to)
	if err != nil {
		return err
	}
	return d.do(c, func() error {
		err := withFDs(fromDir, toDir, func(a, b int) error {
			return unix.Renameat2(a, from, b, to, unix.RENAME_NOREPLACE)
		})
		// EINVAL: this file system doesn't know the flag (it also means moving
		// a directory into itself, and then the plain call says so again).
		// ENOSYS: nor does this kernel.
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
			return renameIfFree(fromDir, from, toDir, to)
		}
		return err
	})
}

// renameIfFree is the fallback of Rename.
func renameIfFree(fromDir *os.File, from string, toDir *os.File, to string) error {
	switch _, err := lstat(toDir, to); {
	case err == nil:
		return unix.EEXIST
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return withFDs(fromDir, toDir, func(a, b int) error { return unix.Renameat(a, from, b, to) })
}

// replace moves a file of ours onto a name that may exist.
func (d *Disk) replace(dir *os.File, from, to string) error {
	c, err := between(OpRename, dir, from, dir, to)
	if err != nil {
		return err
	}
	return d.do(c, func() error {
		return withFD(dir, func(fd int) error { return unix.Renameat(fd, from, fd, to) })
	})
}

// Link gives a file a second name, which must be free ([fs.ErrExist]). A
// symbolic link is linked itself, not what it leads to.
func (d *Disk) Link(fromDir *os.File, from string, toDir *os.File, to string) error {
	c, err := between(OpLink, fromDir, from, toDir, to)
	if err != nil {
		return err
	}
	return d.do(c, func() error {
		return withFDs(fromDir, toDir, func(a, b int) error { return unix.Linkat(a, from, b, to, 0) })
	})
}
