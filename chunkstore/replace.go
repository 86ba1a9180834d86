package chunkstore

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/pbs-like/pbs-like/blob"
)

// replaces decides whether what is to be inserted replaces the chunk that is there,
// whose file has size bytes.
func (in *insertion) replaces(size int64) (bool, error) {
	if size == 0 {
		return true, nil
	}
	l := in.loaders.Get().(*Loader)
	defer in.loaders.Put(l)
	there, _, err := l.examine(in.digest)
	switch {
	case isDamage(err):
		return true, nil
	case errors.Is(err, blob.ErrWrongKey):
		// What is to be inserted opens with the key and has this name, or else it is refused:
		// then what is there has the name of data that it does not hold.
		return true, in.prove(l)
	case errors.Is(err, fs.ErrNotExist):
		return false, errChanged
	case err != nil:
		return false, err
	case !in.better(there, size):
		return false, nil
	}
	return true, in.prove(l)
}

// better compares with a good chunk. Unencrypted data is worth more than encrypted:
// it can be read without the key, and its digest shows that it belongs there.
func (in *insertion) better(there blob.Kind, size int64) bool {
	switch {
	case in.kind.Encrypted():
		return false
	case there.Encrypted():
		return true
	default:
		return int64(len(in.stored)) < size
	}
}

// prove checks what is to be inserted, which a good chunk has to give way to.
func (in *insertion) prove(l *Loader) error {
	if err := l.decode(in.digest, in.stored, AnySize); err != nil {
		return fmt.Errorf("to be inserted: %w", err)
	}
	return nil
}
