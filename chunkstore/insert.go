package chunkstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// Result tells what an insertion did.
type Result struct {
	Written bool  // this call wrote the chunk; else it was there and was touched
	Size    int64 // of the stored form that is there now, in bytes
}

// insertAttempts is how often an insertion starts again because others changed the
// chunk between two steps. Two are enough unless somebody removes what others
// write.
const insertAttempts = 5

// errChanged says that what was found a moment ago is there no more, or the other
// way round.
var errChanged = errors.New("chunk keeps changing")

// Insert makes stored, a data blob, the chunk d, or keeps what is there: see the
// package's documentation. After nil there is a good chunk of that name, and it
// was written or touched now. After an error there is what was there before. The
// data is not on disk before the file system is synced.
//
// stored is not kept. Written past the page cache is a large one whose address is a
// multiple of 4096, so the beginning of a slice that is used again for each chunk.
// That it has the digest d is checked only before it replaces a good chunk.
func (s *Store) Insert(ctx context.Context, d digest.Digest, stored []byte) (Result, error) {
	header, err := blob.ParseHeader(stored)
	if err != nil {
		return Result{}, fmt.Errorf("chunk %s to be inserted: %w", d, err)
	}
	in := insertion{s, d, nameOf(d), stored, header.Kind}
	for range insertAttempts {
		if err = ctx.Err(); err != nil {
			return Result{}, err
		}
		var result Result
		if result, err = in.try(); !errors.Is(err, errChanged) {
			return result, err
		}
	}
	return Result{}, &fs.PathError{Op: "insert", Path: s.chunks.Name() + "/" + in.name.path(), Err: err}
}

type insertion struct {
	*Store
	digest digest.Digest
	name   chunkName
	stored []byte
	kind   blob.Kind
}

func (in *insertion) try() (Result, error) {
	dir, err := in.makePrefix(in.name)
	if err != nil {
		return Result{}, foreign(err)
	}
	defer dir.Close()
	size, err := sizeIn(dir, in.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return in.add(dir)
	case err != nil:
		return Result{}, foreign(err)
	}
	replace, err := in.replaces(size)
	switch {
	case err != nil:
		return Result{}, err
	case replace:
		// What is replaced may be good, and finished backups may rest on it.
		return in.written(in.write(dir, fsop.CommitOptions{Sync: true}))
	default:
		return in.keep(dir, size)
	}
}

// add writes a chunk that was not there. If it is by now, the rules for two are to
// decide.
func (in *insertion) add(dir *os.File) (Result, error) {
	err := in.write(dir, fsop.CommitOptions{NoReplace: true})
	if errors.Is(err, fs.ErrExist) {
		return Result{}, errChanged
	}
	return in.written(err)
}

func (in *insertion) keep(dir *os.File, size int64) (Result, error) {
	kept, err := in.touchKept(dir, in.name)
	if err == nil && !kept {
		err = errChanged
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Size: size}, nil
}

func (in *insertion) written(err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	return Result{Written: true, Size: int64(len(in.stored))}, nil
}
