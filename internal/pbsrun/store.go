package pbsrun

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// Modes as the server makes its files and directories.
const (
	fileMode       = 0o660
	dirMode        = 0o755
	activeDirMode  = 0o750
	temporaryStart = ".tmp_" // short, so that it never is too long where the name is not
)

// Store is a datastore that the server serves.
type Store struct {
	Datastore
	server *Server
}

// Directory is where the server has the datastore, as an absolute path.
func (s *Store) Directory() string { return s.Datastore.directory(s.server.opts.Mounts) }

// OldLocking tells whether a server of version 3.3.5 or later still locks as
// those before did.
func (s *Store) OldLocking() (bool, error) {
	var st unix.Stat_t
	name := filepath.Join(s.server.opts.Run, "old-locking")
	err := unix.Stat(name, &st)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, &fs.PathError{Op: "stat", Path: name, Err: err}
}

// disk makes files that belong to the server.
func (s *Store) disk() (*fsop.Disk, error) {
	owner, err := s.server.Owner()
	if err != nil {
		return nil, err
	}
	var disk fsop.Disk
	if given := s.server.opts.Disk; given != nil {
		disk = *given
	}
	disk.Owner = &owner
	return &disk, nil
}

// locksDir opens a directory of lock files, "." being that of the datastore, and
// makes what is missing of it: after a start of the machine the server may not
// have come to it yet.
func (s *Store) locksDir(disk *fsop.Disk, name string) (*os.File, error) {
	return s.directory(disk, filepath.Join("locks", s.Name, name), dirMode)
}

// directory opens a directory below the run directory, and makes it if need be.
// The last part gets mode, those above it are for everybody to pass.
func (s *Store) directory(disk *fsop.Disk, name string, mode fs.FileMode) (*os.File, error) {
	above, run := filepath.Split(filepath.Clean(s.server.opts.Run))
	dir, err := os.OpenFile(filepath.Clean(above), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	parts := append([]string{run}, strings.Split(name, "/")...)
	for i, part := range parts {
		use := fs.FileMode(dirMode)
		if i == len(parts)-1 {
			use = mode
		}
		next, err := openOrMake(disk, dir, part, use)
		if err = errors.Join(err, dir.Close()); err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

func openOrMake(disk *fsop.Disk, dir *os.File, name string, mode fs.FileMode) (*os.File, error) {
	next, err := beneath.OpenDir(dir, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return next, err
	}
	if err := disk.Mkdir(dir, name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return beneath.OpenDir(dir, name)
}

// makeFile makes an empty file of the server's unless it is there.
func makeFile(disk *fsop.Disk, dir *os.File, name string) error {
	f, err := disk.CreateTemp(dir, temporaryStart, fileMode)
	if err != nil {
		return err
	}
	err = f.Commit(name, fsop.CommitOptions{NoReplace: true})
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
