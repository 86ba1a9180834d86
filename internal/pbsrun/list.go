package pbsrun

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/unitname"
)

// Role is what a lock file is for.
type Role int

// The roles of lock files.
const (
	OfThing    Role = iota // a group or a snapshot
	OfManifest             // the manifest of a snapshot
	OfStore                // the journal of moves, or the list of operations
	OfUnknown              // the name does not tell
)

// LockFile is a file on which a server locks something.
type LockFile struct {
	// Path is absolute; Name is below the directory of the datastore's locks, "" for the
	// list of operations.
	Path, Name string
	Dev, Ino   uint64
}

// LockFiles lists the lock files that there are. What vanishes meanwhile is left out.
func (s *Store) LockFiles() iter.Seq2[LockFile, error] {
	return func(yield func(LockFile, error) bool) {
		run := s.server.opts.Run
		top := filepath.Join(run, "locks", s.Name)
		list := LockFile{Path: filepath.Join(run, "active-operations", s.Name+".lock")}
		if found, err := list.stat(); (found || err != nil) && !yield(list, err) {
			return
		}
		err := filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
				return nil
			}
			file := LockFile{Path: name, Name: strings.TrimPrefix(name, top+"/")}
			found := err == nil
			if found {
				found, err = file.stat()
			}
			if (found || err != nil) && !yield(file, err) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(LockFile{}, err)
		}
	}
}

func (f *LockFile) stat() (found bool, err error) {
	var st unix.Stat_t
	switch err := unix.Lstat(f.Path, &st); err {
	case nil:
		f.Dev, f.Ino = uint64(st.Dev), st.Ino
		return st.Mode&unix.S_IFMT == unix.S_IFREG, nil
	case unix.ENOENT, unix.ENOTDIR:
		return false, nil
	default:
		return false, &fs.PathError{Op: "stat", Path: f.Path, Err: err}
	}
}

// RunDir is the server's run directory, which need not be there.
func (s *Store) RunDir() (*os.File, error) { return os.Open(s.server.opts.Run) }

// ParseLockName says what a lock file is for, by its name below the directory of the
// datastore's locks. thing is "type/id" or "type/id/time", and namespace "" or parts
// joined by "/". A name that was hashed does not tell.
func ParseLockName(name string) (role Role, namespace, thing string) {
	if name == "" || name == journalName {
		return OfStore, "", ""
	}
	dir, file := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	if dir != "" && file == path.Base(dir)+manifestLock {
		return parseOldName(dir)
	}
	if dir == hashedDir || path.Base(dir) == hashedDir || strings.Contains(dir, "/") {
		return OfUnknown, "", ""
	}
	thing, ok := unitname.Unescape(file)
	if !ok {
		return OfUnknown, "", ""
	}
	namespace = strings.ReplaceAll(dir, ":", "/")
	if snapshot, isManifest := strings.CutSuffix(thing, "/"+manifestLock); isManifest {
		return OfManifest, namespace, snapshot
	}
	return OfThing, namespace, thing
}

// parseOldName takes the namespace from the path of a snapshot in the datastore.
func parseOldName(dir string) (role Role, namespace, thing string) {
	parts := strings.Split(dir, "/")
	var names []string
	for len(parts) > 2 && parts[0] == "ns" {
		names, parts = append(names, parts[1]), parts[2:]
	}
	return OfManifest, strings.Join(names, "/"), strings.Join(parts, "/")
}
