package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// checkTarget refuses targets of a restore that nobody can have meant.
func (p *program) checkTarget(store, target string, overwrite bool) error {
	switch {
	case target == "":
		return usageErrorf("the target is empty")
	case target != standardOutput:
		if err := checkOutside(store, target); err != nil {
			return err
		}
		return checkParent(target)
	case isTerminal(p.streams.Out) && !overwrite:
		return usageErrorf("standard output is a terminal: send it to a file or a pipe, or write to it all the same with --%s", flagOverwrite)
	}
	return nil
}

// checkParent names the directory that a file is to be made in and that is not there.
func checkParent(target string) error {
	dir := filepath.Dir(target)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("target %q: the directory %q does not exist, and is not made", target, dir)
	}
	return nil
}

// checkOutside refuses a file in the datastore itself: there it may damage what
// it is restored from. What can't be looked at is left to the restore to name.
func checkOutside(store, target string) error {
	return checkDirOutside(store, realDir(target), target)
}

// checkDirOutside does so for a directory, which may be there or not. Shown is what the user wrote.
func checkDirOutside(store, dir, shown string) error {
	root, err := os.Stat(store)
	if err != nil {
		return nil //nolint:nilerr // the restore finds the same
	}
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(root, info) {
			return usageErrorf("target %q is inside of the datastore %q", shown, store)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// realDir is the directory of the file that a restore to the path would write, without links.
func realDir(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return filepath.Dir(path)
}
