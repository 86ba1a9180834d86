package index

import (
	"errors"
	"fmt"
	"io"
)

var (
	// ErrCorrupt is what every error about the bytes of an index unwraps to.
	ErrCorrupt = errors.New("corrupt index")

	// ErrWrongKind is the answer to a file of the other kind. It unwraps to
	// ErrCorrupt: a name that promises the wrong kind is damage too.
	ErrWrongKind = fmt.Errorf("%w: wrong kind", ErrCorrupt)
)

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

// readFull fills b from offset on. A file that ends before it should is corrupt,
// other errors are the reader's own.
func readFull(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil // with io.EOF too
	case err == nil || errors.Is(err, io.EOF):
		return corrupt("it ends at byte %d instead of %d or later", offset+int64(n), offset+int64(len(b)))
	}
	return err
}
