package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/storelock"
)

const (
	tempPrefix = "tmp"
	tempSuffix = ".tmp"
	// sweepAfter is how old a leftover is that nobody can be writing any more.
	sweepAfter = time.Hour
)

// Store writes a temporary file and renames it.
func (s *Store) Store(_ context.Context, name string, data []byte) error {
	prefix, key := path.Split(name)
	dir, err := s.make(path.Clean(prefix))
	if err != nil {
		return notStored(err)
	}
	defer dir.Close()
	st, err := beneath.Stat(dir, ".")
	if err != nil {
		return notStored(err)
	}
	f, err := s.temp(dir, &st)
	if err != nil {
		return notStored(err)
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return notStored(err)
	}
	if err := f.Commit(key, fsop.CommitOptions{}); err != nil {
		return s.takeBack(dir, f, key, err)
	}
	s.sweep(dir, key)
	return nil
}

// takeBack is for a rename that is said to have failed: a network file system may have made it
// all the same, or may yet. Once neither name is there any more it can't.
func (s *Store) takeBack(dir *os.File, f *fsop.File, key string, why error) error {
	if f.Discard() != nil {
		return why
	}
	if err := s.disk.Remove(dir, key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return why
	}
	return notStored(why)
}

func notStored(err error) error { return fmt.Errorf("%w: %w", storelock.ErrNotStored, err) }

// temp makes a file with the original's kind of name, which no reader takes for
// an object, for everybody who may use the directory.
func (s *Store) temp(dir *os.File, st *unix.Stat_t) (*fsop.File, error) {
	disk := *s.disk
	disk.Owner = &fsop.Owner{UID: -1, GID: int(st.Gid)}
	for {
		f, err := disk.Create(dir, tempPrefix+randomName()+tempSuffix, fs.FileMode(st.Mode&0o666))
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

func randomName() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
	var b [8]byte
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b[:])
}

// make opens the directory of a prefix, and makes it and those above it if they are missing.
func (s *Store) make(prefix string) (*os.File, error) {
	dir, err := s.open(prefix)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	made := "."
	for part := range strings.SplitSeq(path.Join(s.sub, prefix), "/") {
		if err := s.mkdir(made, part); err != nil {
			return nil, err
		}
		made = path.Join(made, part)
	}
	return s.open(prefix)
}

func (s *Store) mkdir(above, name string) error {
	dir, err := beneath.OpenDir(s.root, above)
	if err != nil {
		return err
	}
	defer dir.Close()
	st, err := beneath.Stat(dir, ".")
	if err != nil {
		return err
	}
	disk := *s.disk
	disk.Owner = &fsop.Owner{UID: -1, GID: int(st.Gid)}
	err = disk.Mkdir(dir, name, fs.FileMode(st.Mode&0o777))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// sweep removes what writers that died have left, by the file system's own clock:
// the file that was just written has its present time. What it can't do does not matter.
func (s *Store) sweep(dir *os.File, key string) {
	now, err := beneath.Stat(dir, key)
	if err != nil {
		return
	}
	again, err := beneath.OpenDir(dir, ".") // dir may have been read already
	if err != nil {
		return
	}
	defer again.Close()
	names, _ := again.Readdirnames(1024)
	for _, name := range names {
		if !strings.HasSuffix(name, tempSuffix) {
			continue
		}
		st, err := beneath.Stat(dir, name)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && now.Mtim.Sec-st.Mtim.Sec > int64(sweepAfter/time.Second) {
			_ = s.disk.Remove(dir, name)
		}
	}
}
