package beneath

import (
	"os"

	"golang.org/x/sys/unix"
)

// Names lists the names in the directory with the descriptor fd, which was not
// read before, in no order. buf is for the kernel to put them into. It is for
// those who go through very many directories, and who know what the descriptor
// is of: the error is a bare number.
func Names(fd int, buf []byte) (names []string, err error) {
	for {
		n := 0
		err := again(func() (err error) {
			n, err = unix.Getdents(fd, buf)
			return err
		})
		if err != nil || n == 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// StatFD is [Stat] for a name of one part and a directory's bare descriptor. The error is a bare number, or [ErrName].
func StatFD(dirfd int, name string) (st unix.Stat_t, err error) {
	if err := checkName(name); err != nil {
		return st, err
	}
	return st, statBelow(dirfd, name, &st)
}

// OpenDirs opens directories below dir, one after the other, with no more work for
// each than one call of the system: dir's descriptor stays what it is while do runs.
func OpenDirs(dir *os.File, do func(open func(name string) (fd int, err error)) error) error {
	return withFD(dir, func(dirfd int) error {
		return do(func(name string) (int, error) {
			err := checkName(name)
			fd := -1
			if err == nil {
				fd, err = openBelow(dirfd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			}
			if err != nil {
				return -1, pathError("openat", dir, name, err)
			}
			return fd, nil
		})
	})
}
