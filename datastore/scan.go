package datastore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// readDirectory lists the subdirectories of a directory below the root by one
// read of it. What is hidden or no directory is left out, as the original does,
// except symbolic links: where a directory is expected they are reported,
// because they are never followed and something may hide behind them.
func readDirectory(root *os.File, name string) (names []string, broken []*EntryError, err error) {
	dir, err := beneath.OpenDir(root, name)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	return subdirectories(dir, name)
}

func subdirectories(dir *os.File, name string) (names []string, broken []*EntryError, err error) {
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, nil, err
	}
	names = make([]string, 0, len(entries))
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		kind := entry.Type()
		if kind&fs.ModeIrregular != 0 { // a file system that gives no types with its entries
			kind = typeOf(dir, entry.Name())
		}
		switch {
		case kind.IsDir():
			names = append(names, entry.Name())
		case kind&fs.ModeSymlink != 0:
			broken = append(broken, &EntryError{
				Path: path.Join(name, entry.Name()),
				Err:  errors.New("is a symbolic link, which is never followed"),
			})
		}
	}
	return names, broken, nil
}

func typeOf(dir *os.File, name string) fs.FileMode {
	stat, err := beneath.Stat(dir, name)
	if err != nil {
		return 0
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	}
	return 0
}

// exists tells whether the name leads to something, without following links.
func exists(root *os.File, name string) (bool, error) {
	_, err := beneath.Stat(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// checkNamespace makes sure that a namespace is there. The root always is.
func checkNamespace(root *os.File, ns backupinfo.Namespace) error {
	if ns.IsRoot() {
		return nil
	}
	dir, err := openNamespace(root, ns)
	if err != nil {
		return err
	}
	return dir.Close()
}

// openNamespace opens the directory of a namespace, which is the store's own for the root.
func openNamespace(root *os.File, ns backupinfo.Namespace) (*os.File, error) {
	dir, err := beneath.OpenDir(root, path.Join(".", ns.Dir()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{Kind: "namespace", Name: ns.String()}
	}
	if err != nil {
		return nil, fmt.Errorf("namespace %q: %w", ns, err)
	}
	return dir, nil
}

// typeDir is the directory of all groups of one type in a namespace, relative to the root.
func typeDir(ns backupinfo.Namespace, kind backupinfo.Type) string {
	return path.Join(ns.Dir(), string(kind))
}
