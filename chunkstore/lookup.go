package chunkstore

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// Info describes a chunk's file.
type Info struct {
	Size  int64  // of the stored form, in bytes; 0 is the trace of a crash, or of an object store's cache
	Inode uint64 // on many file systems, files with numbers near to each other are near to each other on disk
	// Modified is when the content was last changed, as far as the file system keeps that. Touching a chunk leaves it as it is.
	Modified time.Time
}

// Lookup tells about a chunk without reading or touching it. The error is a
// [*MissingChunkError], [ErrForeign], or what the system said.
func (s *Store) Lookup(d digest.Digest) (Info, error) {
	name := nameOf(d).path()
	st, err := beneath.Stat(s.chunks, name)
	if err != nil {
		return Info{}, classify(d, err)
	}
	_, err = regularSize(s.chunks, name, st)
	if err != nil {
		return Info{}, classify(d, err)
	}
	return chunkInfo(st), nil
}

func chunkInfo(st unix.Stat_t) Info {
	return Info{Size: st.Size, Inode: st.Ino, Modified: time.Unix(st.Mtim.Unix())}
}
