package datastore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

// checkNotNested refuses a new store below an existing one. The directory's own
// parents are looked at, whatever links led to it, and also those that it has in
// other mounts of the same file system: a bind mount hides them.
func checkNotNested(root *os.File) error {
	outer, err := enclosingStore(root)
	if err == nil && outer != "" {
		err = fmt.Errorf("%q would be inside the datastore %q", root.Name(), outer)
	}
	return err
}

// enclosingStore gives the path of a store that a directory is inside of, or "".
func enclosingStore(root *os.File) (string, error) {
	real, err := filepath.EvalSymlinks(root.Name())
	if err != nil {
		return "", err
	}
	views, err := otherViews(real)
	if err != nil {
		return "", err
	}
	for _, view := range append(views, real) {
		for parent := path.Dir(view); ; parent = path.Dir(parent) {
			if isStore(parent) {
				return parent, nil
			}
			if parent == "/" {
				break
			}
		}
	}
	return "", nil
}

func isStore(dir string) bool {
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	stat, err := beneath.Stat(f, chunkDirName)
	return err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR
}

// mount is one line of /proc/self/mountinfo, see proc_pid_mountinfo(5).
type mount struct {
	device string // major:minor
	root   string // the directory of the file system that is mounted
	point  string // where
}

// otherViews gives the other paths under which a directory can be seen: its file
// system may be mounted more than once, and from different directories of it.
func otherViews(real string) ([]string, error) {
	mounts, err := readMounts("/proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var own mount
	for _, m := range mounts { // later mounts cover earlier ones
		if _, below := relative(m.point, real); below && len(m.point) >= len(own.point) {
			own = m
		}
	}
	rest, _ := relative(own.point, real)
	inside := path.Join(own.root, rest)
	var views []string
	for _, m := range mounts {
		if below, ok := relative(m.root, inside); ok && m.device == own.device {
			views = append(views, path.Join(m.point, below))
		}
	}
	return views, nil
}

// relative cuts a parent off a path.
func relative(parent, name string) (string, bool) {
	if parent == "/" {
		return strings.TrimPrefix(name, "/"), strings.HasPrefix(name, "/")
	}
	rest, found := strings.CutPrefix(name, parent)
	return strings.TrimPrefix(rest, "/"), found && parent != "" && (rest == "" || rest[0] == '/')
}
