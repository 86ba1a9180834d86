package activity

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Place is where processes say what they do. The zero value is nowhere.
type Place struct {
	// Dirs are tried in order by who writes, and all are read.
	Dirs []string
	// Users is the directory that holds one directory for each user's number, in which
	// those who may not write to Dirs publish, or "".
	Users string
}

// The usual directories.
const (
	systemDir = "/run/pbs-like"
	usersDir  = "/run/user"
	dirName   = "pbs-like"
)

// Usual is where every process looks unless it was told otherwise.
func Usual() Place {
	p := Place{Dirs: []string{systemDir}, Users: usersDir}
	if own := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(own) && os.Geteuid() != 0 {
		p.Dirs = append(p.Dirs, filepath.Join(own, dirName))
	}
	return p
}

// of lists the directories in which a process of that user may have said something.
func (p Place) of(uid int) []string {
	var dirs []string
	for _, dir := range p.Dirs {
		dirs = append(dirs, dir, filepath.Join(dir, strconv.Itoa(uid)))
	}
	if p.Users != "" {
		dirs = append(dirs, filepath.Join(p.Users, strconv.Itoa(uid), dirName))
	}
	return dirs
}

// open opens a directory in which another user may have put what he likes. The part
// of the path above it belongs to the system. A file system that the user has
// mounted there is not entered: it could hang whoever looks at it.
func open(dir string) (*os.File, error) {
	above, err := unix.Open(filepath.Dir(dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Dir(dir), Err: err}
	}
	defer unix.Close(above)
	return openAt(above, filepath.Base(dir), dir, unix.O_RDONLY|unix.O_DIRECTORY)
}

func openAt(dirfd int, name, path string, flags uint64) (*os.File, error) {
	fd, err := unix.Openat2(dirfd, name, &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Process is a process, told from all others that have had its number.
type Process struct {
	PID   int
	Start uint64 // in clock ticks since the machine started, as in /proc/PID/stat
}

func (p Process) prefix() string { return fmt.Sprintf("%d-%d-", p.PID, p.Start) }
