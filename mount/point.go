package mount

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

var (
	// ErrPoint means that a directory can't serve as mount point.
	ErrPoint = errors.New("can't be a mount point")
	// ErrBusy means that something below the mount point is in use.
	ErrBusy = errors.New("in use")
	// ErrNoFUSE means that this machine, or container, can't mount file systems of user space.
	ErrNoFUSE = errors.New("file systems in user space can't be mounted here")
)

func pointErrorf(path, format string, args ...any) error {
	return fmt.Errorf("%q %w: %s", path, ErrPoint, fmt.Sprintf(format, args...))
}

// preparePoint makes sure that something may be mounted there, and gives the path without links. What a
// mount of ours has left that was killed is taken away.
func preparePoint(path, store string, cleared func(string)) (string, error) {
	point, err := resolve(path)
	if err != nil {
		return "", err
	}
	if err := clearStale(point, cleared); err != nil {
		return "", err
	}
	if had, ok, err := mountedAt(point); err != nil {
		return "", err
	} else if ok && had.kind == fsType {
		return "", pointErrorf(point, "%s is mounted there already", had.source)
	}
	if err := checkEmpty(point); err != nil {
		return "", err
	}
	return point, checkApart(point, store)
}

// resolve follows links, but does not look at the mount point itself: it may be of a mount that is dead.
func resolve(path string) (string, error) {
	if path == "" {
		return "", pointErrorf(path, "it is empty")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(absolute)
	if errors.Is(err, syscall.ENOTCONN) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(absolute))
		return filepath.Join(dir, filepath.Base(absolute)), err
	}
	return real, err
}

// isDead tells of a mount whose process is gone. Attributes may still be remembered by the kernel, figures of the file system are not.
func isDead(point string) bool {
	if _, err := os.Lstat(point); err != nil {
		return errors.Is(err, syscall.ENOTCONN)
	}
	return errors.Is(syscall.Statfs(point, &syscall.Statfs_t{}), syscall.ENOTCONN)
}

func clearStale(point string, cleared func(string)) error {
	if !isDead(point) {
		return nil // what else is wrong is found next
	}
	had, ok, err := mountedAt(point)
	if err != nil {
		return err
	}
	if !ok || had.kind != fsType {
		return pointErrorf(point, "a dead mount of type %q is there; take it away with: fusermount3 -u %s", had.kind, point)
	}
	if err := detach(point); err != nil {
		return pointErrorf(point, "a mount that was killed is there and can't be taken away (%v); try: fusermount3 -u %s", err, point)
	}
	if cleared != nil {
		cleared(point)
	}
	return nil
}

// checkEmpty refuses to hide what is there.
func checkEmpty(point string) error {
	f, err := os.Open(point)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return pointErrorf(point, "it is no directory")
	}
	names, err := f.Readdirnames(1)
	if len(names) > 0 {
		return pointErrorf(point, "it is not empty, and what is in it would be hidden")
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// checkApart refuses a mount in the store, and one that hides the store from who reads it.
func checkApart(point, store string) error {
	store, err := filepath.EvalSymlinks(store)
	if err != nil {
		return err
	}
	if isAbove(store, point) {
		return pointErrorf(point, "it is in the datastore %q", store)
	}
	if isAbove(point, store) {
		return pointErrorf(point, "the datastore %q is in it, and would be hidden", store)
	}
	return nil
}

// isAbove tells whether a path leads through a directory, by whatever name.
func isAbove(dir, path string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for ; ; path = filepath.Dir(path) {
		if part, err := os.Stat(path); err == nil && os.SameFile(info, part) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}
