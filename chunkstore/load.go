package chunkstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// maxStored is the size of the largest file that can be a chunk.
const maxStored = blob.EncryptedHeaderSize + blob.MaxSize

// Load reads the stored form of a chunk into buf, as far as its capacity goes, or
// into a new slice. It does not look at what it reads: see [Loader] for that.
//
// The error is a [*MissingChunkError], [ErrForeign], a [*CorruptChunkError] for a
// file that is larger than any chunk (which is not read), or the *fs.PathError of
// an open or a read. A slice with no bytes, to be used again, comes back then.
func (s *Store) Load(d digest.Digest, buf []byte) ([]byte, error) {
	buf, _, err := s.load(d, buf)
	return buf, err
}

// load also tells about the file, as it was when it was open and not read yet.
func (s *Store) load(d digest.Digest, buf []byte) ([]byte, Info, error) {
	name := nameOf(d).path()
	fd, err := beneath.OpenRegularFD(s.chunks, name, unix.O_RDONLY)
	if err != nil {
		return buf[:0], Info{}, classify(d, err)
	}
	defer unix.Close(fd)
	info, err := statOf(fd)
	size := info.Size
	if size > maxStored {
		return buf[:0], info, &CorruptChunkError{d, fmt.Errorf("its file has %d bytes, more than any chunk", size)}
	}
	if err == nil {
		buf = resize(buf, int(size))
		err = readFull(fd, buf)
	}
	if err != nil {
		return buf[:0], info, &fs.PathError{Op: "read", Path: s.chunks.Name() + "/" + name, Err: err}
	}
	return buf, info, nil
}

func statOf(fd int) (Info, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstat(fd, &st) })
	return chunkInfo(st), err
}

func resize(buf []byte, n int) []byte {
	if cap(buf) < n {
		return make([]byte, n)
	}
	return buf[:n]
}

// readFull fills buf. A file that ends early was cut off while it was read, and
// has not been read to its end: that is no corruption.
func readFull(fd int, buf []byte) error {
	for len(buf) > 0 {
		var n int
		err := again(func() (err error) {
			n, err = unix.Read(fd, buf)
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		buf = buf[n:]
	}
	return nil
}

func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
