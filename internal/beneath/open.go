package beneath

import (
	"errors"
	"os"

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
	if err := checkName(name); err != nil {
		return nil, pathError("openat", dir, name, err)
	}
	var fd int
	err := withFD(dir, func(dirfd int) (err error) {
		fd, err = openBelow(dirfd, name, flag|unix.O_CLOEXEC|unix.O_NOFOLLOW, perm)
		return err
	})
	if err != nil {
		return nil, pathError("openat", dir, name, err)
	}
	return os.NewFile(uintptr(fd), join(dir, name)), nil
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
	st, err := Stat(dir, name)
	if err != nil {
		return nil, err
	}
	if !isRegular(st.Mode) {
		return nil, pathError("openat", dir, name, notRegular{st.Mode})
	}
	// O_NONBLOCK is for the moment between the two calls, in which the file may
	// have been replaced by a pipe without a writer.
	f, err := Open(dir, name, flag&^unix.O_CREAT|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EAGAIN) {
		f, err = reopen(dir, name, flag)
	}
	if err != nil {
		return nil, err
	}
	return onlyRegular(dir, name, f)
}

// reopen opens a file on which another process (a file server, most likely) has
// a lease. O_NONBLOCK refuses such a file, so it is pinned first and opened
// through the pin, which waits until the kernel has broken the lease.
func reopen(dir *os.File, name string, flag int) (*os.File, error) {
	pin, err := Open(dir, name, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	defer pin.Close()
	if pin, err = onlyRegular(dir, name, pin); err != nil {
		return nil, err
	}
	fd, err := openPin(pin, flag&^(unix.O_CREAT|unix.O_NOFOLLOW)|unix.O_CLOEXEC)
	if err != nil {
		return nil, pathError("openat", dir, name, err)
	}
	return os.NewFile(uintptr(fd), join(dir, name)), nil
}

// onlyRegular returns f if it is a regular file, and closes it if not.
func onlyRegular(dir *os.File, name string, f *os.File) (*os.File, error) {
	var st unix.Stat_t
	err := withFD(f, func(fd int) error { return again(func() error { return unix.Fstat(fd, &st) }) })
	if err == nil && !isRegular(st.Mode) {
		err = notRegular{st.Mode}
	}
	if err != nil {
		f.Close()
		return nil, pathError("openat", dir, name, err)
	}
	return f, nil
}

func isRegular(mode uint32) bool { return mode&unix.S_IFMT == unix.S_IFREG }
