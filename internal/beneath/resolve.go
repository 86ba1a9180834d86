package beneath

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// maxAgain bounds the retries of an openat2 that lost a race with a rename.
const maxAgain = 32

// checkName accepts "." and relative names in their shortest form.
func checkName(name string) error {
	if name == "." {
		return nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return ErrName
		}
	}
	if strings.IndexByte(name, 0) >= 0 {
		return ErrName
	}
	return nil
}

// withFD keeps the descriptor of f from being closed, and its number from being
// given to another file, while do runs.
func withFD(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = do(int(fd)) }); err != nil {
		return os.ErrClosed // the only reason that Control knows
	}
	return result
}

// openBelow needs a checked name and O_NOFOLLOW in flag.
func openBelow(dirfd int, name string, flag int, perm uint32) (int, error) {
	if !strings.Contains(name, "/") {
		// With one part O_NOFOLLOW alone says it all.
		return openPart(dirfd, name, flag, perm)
	}
	fd, err := openKernel(dirfd, name, flag, perm)
	switch err {
	case unix.ENOSYS, unix.EPERM, unix.ENOTDIR:
		// An old kernel, or a container's filter that answers EPERM for calls
		// that it does not know, or a link where a directory was asked for. An
		// error that was meant is met again by the walk.
		return openWalk(dirfd, name, flag, perm)
	case unix.ELOOP:
		return -1, ErrSymlink
	}
	return fd, err
}

func openKernel(dirfd int, name string, flag int, perm uint32) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flag),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	if flag&unix.O_CREAT != 0 {
		how.Mode = uint64(perm)
	}
	for n := 0; ; n++ {
		fd, err := unix.Openat2(dirfd, name, &how)
		if err == unix.EINTR || err == unix.EAGAIN && flag&unix.O_NONBLOCK == 0 && n < maxAgain {
			continue
		}
		return fd, err
	}
}

// openWalk does what openat2 does, one part at a time.
func openWalk(dirfd int, name string, flag int, perm uint32) (int, error) {
	at := dirfd
	closeAt := func() {
		if at != dirfd {
			unix.Close(at)
		}
	}
	defer closeAt()
	for {
		part, rest, more := strings.Cut(name, "/")
		if !more {
			return openPart(at, part, flag, perm)
		}
		next, err := openPart(at, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		closeAt()
		at, name = next, rest
	}
}

// openPart opens a name of one part. O_NOFOLLOW answers ELOOP for a symbolic
// link, or ENOTDIR if O_DIRECTORY was asked for as well.
func openPart(dirfd int, part string, flag int, perm uint32) (fd int, err error) {
	err = again(func() error {
		fd, err = unix.Openat(dirfd, part, flag, perm)
		return err
	})
	var st unix.Stat_t
	switch {
	case err == unix.ELOOP:
		return -1, ErrSymlink
	case err == unix.ENOTDIR && lstatAt(dirfd, part, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return -1, ErrSymlink
	}
	return fd, err
}

// again repeats a call that a signal has interrupted: the Go runtime sends
// itself signals all the time, and network and FUSE file systems pass them on.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
