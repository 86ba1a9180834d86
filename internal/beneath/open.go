package beneath

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Open opens name below dir as openat(2) would with flag and perm, the latter
// in the bits of open(2) and used only with O_CREAT, subject to the umask. The
// descriptor is close-on-exec. With O_PATH a symbolic link as the last part is
// opened as itself; in all other cases one anywhere is [ErrSymlink].
//
// Without O_NONBLOCK the open of a named pipe or of a device may block, or have
// effects: use [OpenRegular] for names that others may have made.
func Open(dir *os.File, name string, flag int, perm uint32) (*os.File, error) {
	return asFile(dir, name)(OpenFD(dir, name, flag, perm))
}

// OpenFD is [Open] for a caller that wants the bare number of the descriptor, and
// has to close it: the runtime does not know about it.
func OpenFD(dir *os.File, name string, flag int, perm uint32) (int, error) {
	err := checkName(name)
	fd := -1
	if err == nil {
		err = withFD(dir, func(dirfd int) (err error) {
			fd, err = openBelow(dirfd, name, flag|unix.O_CLOEXEC|unix.O_NOFOLLOW, perm)
			return err
		})
	}
	if err != nil {
		return -1, pathError("openat", dir, name, err)
	}
	return fd, nil
}

// OpenDir opens the directory name below dir for reading. Something that is no
// directory is ENOTDIR, a symbolic link is [ErrSymlink].
func OpenDir(dir *os.File, name string) (*os.File, error) {
	return Open(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// OpenRegular opens the regular file name below dir for reading. Anything else
// is [ErrNotRegular], and was not opened: the open never blocks and a device is
// never touched.
func OpenRegular(dir *os.File, name string) (*os.File, error) {
	return OpenRegularFlags(dir, name, unix.O_RDONLY)
}

// OpenRegularFlags is [OpenRegular] with the flags of open(2), such as O_RDWR.
// It never creates a file: O_CREAT has no effect.
func OpenRegularFlags(dir *os.File, name string, flag int) (*os.File, error) {
	return asFile(dir, name)(OpenRegularFD(dir, name, flag))
}

// OpenRegularFD is [OpenRegularFlags] with a bare number, as [OpenFD].
func OpenRegularFD(dir *os.File, name string, flag int) (int, error) {
	st, err := Stat(dir, name)
	if err != nil {
		return -1, err
	}
	if !isRegular(st.Mode) {
		return -1, pathError("openat", dir, name, notRegularError{st.Mode})
	}
	// O_NONBLOCK is for the moment between the two calls, in which the file may
	// have been replaced by a pipe without a writer.
	fd, err := OpenFD(dir, name, flag&^unix.O_CREAT|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EAGAIN) {
		return reopen(dir, name, flag)
	}
	if err != nil {
		return -1, err
	}
	return onlyRegular(dir, name, fd)
}

// reopen opens a file on which another process (a file server, most likely) has
// a lease. O_NONBLOCK refuses such a file, so it is pinned first and opened
// through the pin, which waits until the kernel has broken the lease.
func reopen(dir *os.File, name string, flag int) (int, error) {
	pin, err := OpenFD(dir, name, unix.O_PATH, 0)
	if err != nil {
		return -1, err
	}
	if pin, err = onlyRegular(dir, name, pin); err != nil {
		return -1, err
	}
	defer unix.Close(pin)
	fd := -1
	err = again(func() (err error) {
		path := "/proc/self/fd/" + strconv.Itoa(pin)
		fd, err = unix.Open(path, flag&^(unix.O_CREAT|unix.O_NOFOLLOW)|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return -1, pathError("openat", dir, name, err)
	}
	return fd, nil
}

// onlyRegular returns fd if it is a regular file, and closes it if not.
func onlyRegular(dir *os.File, name string, fd int) (int, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstat(fd, &st) })
	if err == nil && !isRegular(st.Mode) {
		err = notRegularError{st.Mode}
	}
	if err != nil {
		unix.Close(fd)
		return -1, pathError("openat", dir, name, err)
	}
	return fd, nil
}

func isRegular(mode uint32) bool { return mode&unix.S_IFMT == unix.S_IFREG }

func asFile(dir *os.File, name string) func(fd int, err error) (*os.File, error) {
	return func(fd int, err error) (*os.File, error) {
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), join(dir, name)), nil
	}
}
