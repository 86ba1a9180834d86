package chunkstore

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

var (
	// ErrNoStore is the answer to opening a directory that has no .chunks
	// directory of its own; a symbolic link is none.
	ErrNoStore = errors.New("not a chunk store")

	// ErrMissing says that there is no file for a chunk. The error is a
	// [*MissingChunkError], which is fs.ErrNotExist too.
	ErrMissing = errors.New("chunk is missing")

	// ErrCorrupt says that a chunk was read to its end and is damaged. The error
	// is a [*CorruptChunkError]. Trouble with reading is never this but an
	// *fs.PathError.
	ErrCorrupt = errors.New("chunk is corrupt")

	// ErrForeign says that a chunk's name, or its directory's, belongs to
	// something else: a symbolic link, a pipe, a device, a directory. It was
	// neither followed nor opened.
	ErrForeign = errors.New("something else is in the place of a chunk")
)

// MissingChunkError tells which chunk is missing. It unwraps to [ErrMissing] and
// to the *fs.PathError.
type MissingChunkError struct {
	Digest digest.Digest
	Err    error // what the system said
}

func (e *MissingChunkError) Error() string {
	return fmt.Sprintf("chunk %s is missing", e.Digest)
}

// Unwrap returns ErrMissing and Err.
func (e *MissingChunkError) Unwrap() []error { return []error{ErrMissing, e.Err} }

// CorruptChunkError tells which chunk is damaged and how. It unwraps to
// [ErrCorrupt] and to the reason, which often unwraps to blob.ErrCorrupt.
type CorruptChunkError struct {
	Digest digest.Digest
	Err    error // the reason
}

func (e *CorruptChunkError) Error() string {
	return fmt.Sprintf("chunk %s is corrupt: %v", e.Digest, e.Err)
}

// Unwrap returns ErrCorrupt and Err.
func (e *CorruptChunkError) Unwrap() []error { return []error{ErrCorrupt, e.Err} }

// classify gives an error of the system the meaning that it has for a chunk.
func classify(d digest.Digest, err error) error {
	if errors.Is(err, unix.ENOENT) {
		return &MissingChunkError{Digest: d, Err: err}
	}
	return foreign(err)
}

// foreign marks the errors that say what sits where a chunk, or the directory of
// one, belongs.
func foreign(err error) error {
	if errors.Is(err, beneath.ErrSymlink) || errors.Is(err, beneath.ErrNotRegular) || errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return err
}
