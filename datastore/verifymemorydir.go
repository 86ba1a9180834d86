package datastore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// NewVerifyMemory keeps what verifications remember in a directory, a file for each
// store, that only this user may read. The directory is made when it is first needed,
// with those above it. It has to be outside of the store.
func NewVerifyMemory(dir string) VerifyMemory { return verifyMemoryDir{dir: dir} }

type verifyMemoryDir struct {
	dir  string
	disk *fsop.Disk // nil is the real one
}

func (m verifyMemoryDir) file(store StoreID) string { return "verify-" + store.String() + ".state" }

// Load reads the file. One that this user did not write is refused: whoever could
// write it could call chunks good that are not.
func (m verifyMemoryDir) Load(store StoreID) (progress VerifyProgress, err error) {
	dir, err := openDir(m.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return progress, nil
	}
	if err != nil {
		return progress, err
	}
	defer dir.Close()
	data, err := readOwn(dir, m.file(store))
	if errors.Is(err, fs.ErrNotExist) {
		return progress, nil
	}
	if err != nil {
		return progress, err
	}
	progress, err = parseProgress(store, data)
	if err != nil {
		return progress, fmt.Errorf("%q: %w", filepath.Join(m.dir, m.file(store)), err)
	}
	return progress, nil
}

// readOwn reads a regular file of this user that nobody else can write to.
func readOwn(dir *os.File, name string) ([]byte, error) {
	f, err := beneath.OpenRegular(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	switch {
	case int64(st.Uid) != int64(os.Geteuid()):
		return nil, fmt.Errorf("%q belongs to user %d, who is somebody else", f.Name(), st.Uid)
	case st.Mode&0o022 != 0:
		return nil, fmt.Errorf("%q can be written to by others", f.Name())
	case st.Size > maxMemory:
		return nil, fmt.Errorf("%q is longer than %d bytes", f.Name(), maxMemory)
	}
	data := make([]byte, st.Size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%q: %w", f.Name(), err)
	}
	return data, nil
}

// Save replaces the file, or removes it where there is nothing to keep.
func (m verifyMemoryDir) Save(store StoreID, progress VerifyProgress) error {
	if len(progress.Snapshots) == 0 {
		return m.forget(store)
	}
	dir, err := m.makeDir(m.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return m.disk.WriteFile(dir, m.file(store), encodeProgress(store, progress), 0o600)
}

func (m verifyMemoryDir) forget(store StoreID) error {
	dir, err := openDir(m.dir)
	if err != nil {
		return ignoreNoFile(err)
	}
	defer dir.Close()
	return ignoreNoFile(m.disk.Remove(dir, m.file(store)))
}

func ignoreNoFile(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// makeDir opens a directory, and makes it and those above it where they are missing.
func (m verifyMemoryDir) makeDir(path string) (*os.File, error) {
	dir, err := openDir(path)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
		return dir, err
	}
	above, err := m.makeDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := m.disk.Mkdir(above, filepath.Base(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openDir(path)
}

func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
}
