package fsop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openAt opens a name in a directory, never following a symbolic link and
// never handing the descriptor to a child process.
func openAt(dir *os.File, name string, flag int, mode uint32) (*os.File, error) {
	path := pathOf(dir, name)
	var fd int
	err := again(func() error {
		return withFD(dir, func(dirFD int) (err error) {
			fd, err = unix.Openat(dirFD, name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
			return err
		})
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: bare(err)}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func fstat(f *os.File) (st unix.Stat_t, err error) {
	err = again(func() error {
		return withFD(f, func(fd int) error { return unix.Fstat(fd, &st) })
	})
	if err != nil {
		err = &fs.PathError{Op: "stat", Path: f.Name(), Err: bare(err)}
	}
	return st, err
}

// lstat looks at a name without following a symbolic link and without making
// an automounter mount something there.
func lstat(dir *os.File, name string) (st unix.Stat_t, err error) {
	err = again(func() error {
		return withFD(dir, func(fd int) error {
			return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
		})
	})
	if err != nil {
		err = &fs.PathError{Op: "stat", Path: pathOf(dir, name), Err: bare(err)}
	}
	return st, err
}

func procPath(fd int) string {
	return fmt.Sprintf("/proc/self/fd/%d", fd)
}

// withCleanup adds the error of a clean-up to the one that made it necessary.
// What had gone already needed no cleaning up.
func withCleanup(err, cleanup error) error {
	if cleanup == nil || errors.Is(cleanup, fs.ErrNotExist) {
		return err
	}
	return errors.Join(err, cleanup)
}
