package archiver

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// The flags of every open. O_NONBLOCK is for the moment between looking and opening, in
// which a FIFO may have taken the place of a file.
const openFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK

// attempts is how often we look again when something else stood there when it was opened.
const attempts = 3

var errNoProc = errors.New("/proc is needed to open it, and is not there")

// look tells what a name is, and triggers no automatic mount.
func look(dirfd int, name string) (st unix.Stat_t, err error) {
	err = again(func() error { return unix.Fstatat(dirfd, name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT) })
	return st, err
}

// open opens what look found: files and directories for reading, and all else so that it is only
// pinned. What is opened is what was looked at, or the error is errChanged.
func open(dirfd int, name string, seen *unix.Stat_t) (fd int, now unix.Stat_t, err error) {
	switch seen.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		fd, err = openRead(dirfd, name, 0)
	case unix.S_IFDIR:
		fd, err = openRead(dirfd, name, unix.O_DIRECTORY)
	default:
		fd, err = openAt(dirfd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	}
	if err != nil {
		return -1, now, err
	}
	err = again(func() error { return unix.Fstat(fd, &now) })
	if err == nil && !same(seen, &now) {
		err = errChanged
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, now, err
	}
	return fd, now, nil
}

func same(a, b *unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Mode&unix.S_IFMT == b.Mode&unix.S_IFMT
}

// birth tells when an inode was made, in ns since 1970, or 0 where the file system does not know. Numbers of inodes are used again.
func birth(fd int) int64 {
	var st unix.Statx_t
	err := again(func() error { return unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st) })
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// openRead leaves the time of access alone, which only the owner may ask for.
func openRead(dirfd int, name string, more int) (int, error) {
	fd, err := openAt(dirfd, name, openFlags|more|unix.O_NOATIME)
	if err == unix.EPERM {
		fd, err = openAt(dirfd, name, openFlags|more)
	}
	if err == unix.EAGAIN {
		return openLeased(dirfd, name)
	}
	return fd, err
}

// openLeased opens a file on which another process (a file server, most likely) has a lease. O_NONBLOCK refuses
// such a file, so it is pinned and opened through the pin, which waits until the kernel has broken the lease.
func openLeased(dirfd int, name string) (int, error) {
	pin, err := openAt(dirfd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pin)
	return openPinned(pin, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY)
}

// openPinned opens what an O_PATH descriptor is of, if that is a regular file.
func openPinned(pin, flags int) (int, error) {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(pin, &st) }); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, errNotRegular
	}
	fd, err := openAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(pin), flags)
	if err == unix.ENOENT {
		err = errNoProc // and nothing that vanished
	}
	return fd, err
}

func openAt(dirfd int, name string, flags int) (fd int, err error) {
	err = again(func() (err error) {
		fd, err = unix.Openat(dirfd, name, flags, 0)
		return err
	})
	return fd, err
}

// withFD gives the descriptor of a file, which is not closed meanwhile.
func withFD(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	failure := conn.Control(func(fd uintptr) { err = do(int(fd)) })
	if failure != nil {
		return failure
	}
	return err
}
