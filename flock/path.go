package flock

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

// openPath is os.OpenFile without what that does to watch pipes and sockets,
// which takes longer than the lock itself.
func openPath(name string, flag int) (*os.File, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Open(name, flag|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openRegularPath never blocks on a named pipe: it looks first, and does not
// wait if one came in between.
func openRegularPath(name string, flag int) (*os.File, error) {
	var st unix.Stat_t
	if err := again(func() error { return unix.Stat(name, &st) }); err != nil {
		return nil, pathError("stat", name, err)
	}
	if !isRegular(&st) {
		return nil, pathError("open", name, beneath.ErrNotRegular)
	}
	f, err := openPath(name, flag|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	err = withFD(f, func(fd int) error { return fstat(fd, &st) })
	if err == nil && !isRegular(&st) {
		err = beneath.ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, pathError("open", name, err)
	}
	return f, nil
}

func isRegular(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }

func fstat(fd int, st *unix.Stat_t) error {
	return again(func() error { return unix.Fstat(fd, st) })
}

// withFD keeps f from being closed, and its number from going to another file,
// while do runs. A bare number would not: once f is garbage, the runtime closes
// it, and the number may belong to a file that has nothing to do with us.
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
