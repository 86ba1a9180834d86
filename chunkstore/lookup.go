package chunkstore

import (
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// Info describes a chunk's file.
type Info struct {
	Size  int64  // of the stored form, in bytes; 0 is the trace of a crash, or of an object store's cache
	Inode uint64 // on many file systems, files with numbers near to each other are near to each other on disk
}

// Lookup tells about a chunk without reading or touching it. The error is a
// [*MissingChunkError], [ErrForeign], or what the system said.
func (s *Store) Lookup(d digest.Digest) (Info, error) {
	name := nameOf(d).path()
	st, err := beneath.Stat(s.chunks, name)
	if err != nil {
		return Info{}, classify(d, err)
	}
	size, err := regularSize(s.chunks, name, st)
	return Info{Size: size, Inode: st.Ino}, classify(d, err)
}
