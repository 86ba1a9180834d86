package chunkstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// badSlots is how many damaged files of one chunk are kept: <digest>.0.bad to .9.bad.
const badSlots = 10

// Condemn reads a chunk once more, to its end, and if its content is wrong renames
// its file to <digest>.N.bad, so that the next writer stores it anew. It returns
// the new name, or "" where it left the file as it is: because the content is
// right now, because somebody else took the file away or put a good one in its
// place, or because all ten names are taken.
//
// An error of reading is returned and never a reason to rename. What was renamed is
// what was read: if it turns out to be another file, it is put back.
func (s *Store) Condemn(d digest.Digest, loader *Loader) (string, error) {
	name := nameOf(d)
	read, err := s.rereadBad(d, loader)
	if err != nil || read == nil {
		return "", ignoreMissing(err)
	}
	dir, err := s.openPrefix(name)
	if err != nil {
		return "", ignoreMissing(foreign(err))
	}
	defer dir.Close()
	for n := range badSlots {
		bad := fmt.Sprintf("%s.%d%s", name.file(), n, badSuffix)
		err := s.disk.Rename(dir, name.file(), dir, bad)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return "", ignoreMissing(err)
		}
		return s.keepOrPutBack(dir, name.file(), bad, *read)
	}
	return "", nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// rereadBad reads the chunk through one descriptor and tells which file that was,
// or nil for one whose content is right.
func (s *Store) rereadBad(d digest.Digest, loader *Loader) (*unix.Stat_t, error) {
	st, err := s.readAgain(d, nameOf(d).path(), loader)
	switch {
	case err == nil, errors.Is(err, blob.ErrNeedKey), errors.Is(err, blob.ErrWrongKey):
		// Without the right key nobody can tell; what can't be opened stays, and the next writer replaces it.
		return nil, nil
	case errors.Is(err, ErrCorrupt):
		return &st, nil
	default:
		return nil, err
	}
}

// readAgain reads a file to its end, through one descriptor, and proves that it is the
// chunk d. It tells which file that was.
func (s *Store) readAgain(d digest.Digest, name string, loader *Loader) (st unix.Stat_t, err error) {
	fd, err := beneath.OpenRegularFD(s.chunks, name, unix.O_RDONLY)
	if err != nil {
		return st, classify(d, err)
	}
	defer unix.Close(fd)
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return st, &fs.PathError{Op: "stat", Path: s.chunks.Name() + "/" + name, Err: err}
	}
	if st.Size > maxStored {
		return st, &CorruptChunkError{d, fmt.Errorf("its file has %d bytes, more than any chunk", st.Size)}
	}
	loader.stored = resize(loader.stored, int(st.Size))
	if err := readFull(fd, loader.stored); err != nil {
		return st, &fs.PathError{Op: "read", Path: s.chunks.Name() + "/" + name, Err: err}
	}
	return st, loader.decode(d, loader.stored, AnySize)
}

// keepOrPutBack makes sure that the file that was renamed is the one that was
// read. If a writer put another one there in between, that is linked back, unless
// there is yet another one by now.
func (s *Store) keepOrPutBack(dir *os.File, name, bad string, read unix.Stat_t) (string, error) {
	renamed, err := beneath.Stat(dir, bad)
	if err == nil && renamed.Ino == read.Ino && renamed.Dev == read.Dev {
		return bad, nil
	}
	if err != nil {
		return "", ignoreMissing(err)
	}
	if err := s.disk.Link(dir, bad, dir, name); err != nil && !errors.Is(err, fs.ErrExist) {
		// Without links there is a rename, which does the same as long as the name is free.
		return "", s.disk.Rename(dir, bad, dir, name)
	}
	return "", ignoreMissing(s.disk.Remove(dir, bad))
}
