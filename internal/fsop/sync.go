package fsop

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncDir waits until the names in dir are on disk. File systems that know no
// sync of a directory (some network ones) count as done: there is nothing that
// a caller could do about it.
func (d *Disk) SyncDir(dir *os.File) error {
	return d.do(Change{Op: OpSyncDir, Path: dir.Name()}, func() error {
		err := withFD(dir, unix.Fsync)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		}
		return err
	})
}

// SyncFS waits until everything on the file system of dir is on disk, also
// what others wrote. Linux reports failed writes here since 5.8 only; before
// that nil says that it tried.
func (d *Disk) SyncFS(dir *os.File) error {
	return d.do(Change{Op: OpSyncFS, Path: dir.Name()}, func() error {
		return withFD(dir, unix.Syncfs)
	})
}

// Touch sets the time of last access of a name to now and leaves the time of
// change of its content alone. A symbolic link is touched itself.
//
// Setting one time alone is the right of the owner and of root only. Others,
// though they may write to the file, are refused with EPERM.
func (d *Disk) Touch(dir *os.File, name string) error {
	c, err := at(OpTouch, dir, name)
	if err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_OMIT}}
	return d.do(c, func() error {
		return withFD(dir, func(fd int) error {
			return unix.UtimesNanoAt(fd, name, times, unix.AT_SYMLINK_NOFOLLOW)
		})
	})
}
