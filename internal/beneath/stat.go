package beneath

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Stat tells about name below dir. A symbolic link as the last part is described
// itself; one on the way is [ErrSymlink].
func Stat(dir *os.File, name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := checkName(name)
	if err == nil {
		err = withFD(dir, func(dirfd int) error { return statBelow(dirfd, name, &st) })
	}
	if err != nil {
		return unix.Stat_t{}, pathError("fstatat", dir, name, err)
	}
	return st, nil
}

func statBelow(dirfd int, name string, st *unix.Stat_t) error {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		parent, err := openBelow(dirfd, name[:i], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(parent)
		dirfd, name = parent, name[i+1:]
	}
	return lstatAt(dirfd, name, st)
}

// lstatAt needs a name of one part.
func lstatAt(dirfd int, name string, st *unix.Stat_t) error {
	return again(func() error { return unix.Fstatat(dirfd, name, st, unix.AT_SYMLINK_NOFOLLOW) })
}
