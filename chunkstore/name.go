package chunkstore

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// prefixLen is the number of digits that name a chunk's directory.
const prefixLen = 4

// chunkName is where a chunk is, below .chunks: "abcd/abcd….".
type chunkName string

func nameOf(d digest.Digest) chunkName {
	var hex [digest.HexLen]byte
	d.AppendHex(hex[:0])
	var name [prefixLen + 1 + digest.HexLen]byte
	copy(name[:], hex[:prefixLen])
	name[prefixLen] = '/'
	copy(name[prefixLen+1:], hex[:])
	return chunkName(name[:])
}

func (n chunkName) path() string { return string(n) }
func (n chunkName) dir() string  { return string(n[:prefixLen]) }
func (n chunkName) file() string { return string(n[prefixLen+1:]) }

// openPrefix opens the directory of a chunk. It is opened for each call: 65,536
// kept descriptors are too many, and fewer would hardly ever be the right ones.
func (s *Store) openPrefix(name chunkName) (*os.File, error) {
	return beneath.Open(s.chunks, name.dir(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// makePrefix is openPrefix that makes the directory if it is not there: stores
// that were copied by a program that skips empty directories lack them.
func (s *Store) makePrefix(name chunkName) (*os.File, error) {
	dir, err := s.openPrefix(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := s.disk.Mkdir(s.chunks, name.dir(), dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return s.openPrefix(name)
}

// sizeIn returns the size of a chunk's file in its directory.
func sizeIn(dir *os.File, name chunkName) (int64, error) {
	st, err := beneath.Stat(dir, name.file())
	if err != nil {
		return 0, err
	}
	return regularSize(dir, name.file(), st)
}

func regularSize(dir *os.File, name string, st unix.Stat_t) (int64, error) {
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, &fs.PathError{Op: "stat", Path: dir.Name() + "/" + name, Err: beneath.ErrNotRegular}
	}
	return st.Size, nil
}
