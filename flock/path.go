package flock

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

// openPath opens an ordinary path.
func openPath(name string, flag int) (int, error) {
	fd := -1
	err := again(func() (err error) {
		fd, err = unix.Open(name, flag|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, pathError("open", name, err)
}

// openRegularPath never blocks on a named pipe: it looks first, and does not
// wait if one came in between.
func openRegularPath(name string, flag int) (int, error) {
	var st unix.Stat_t
	if err := again(func() error { return unix.Stat(name, &st) }); err != nil {
		return -1, pathError("stat", name, err)
	}
	if !isRegular(&st) {
		return -1, pathError("open", name, beneath.ErrNotRegular)
	}
	fd, err := openPath(name, flag|unix.O_NONBLOCK)
	if err != nil {
		return -1, err
	}
	err = fstat(fd, &st)
	if err == nil && !isRegular(&st) {
		err = beneath.ErrNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return -1, pathError("open", name, err)
	}
	return fd, nil
}

func isRegular(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }

func fstat(fd int, st *unix.Stat_t) error {
	return again(func() error { return unix.Fstat(fd, st) })
}

// withFD keeps f from being closed, and its number from going to another file,
// while do runs. The bare number of an *os.File would not: once that is garbage,
// the runtime closes it, and the number may belong to somebody else's file.
func withFD(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = do(int(fd)) }); err != nil {
		return fs.ErrClosed // the only reason that Control knows
	}
	return result
}

// again repeats a call that a signal has interrupted: the Go runtime sends
// itself signals all the time, and FUSE and CIFS pass them on.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// errnoOf returns the error number in err, or 0.
func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	errors.As(err, &errno)
	return errno
}
