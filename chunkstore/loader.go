package chunkstore

import (
	"errors"
	"fmt"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
)

// AnySize is what to ask a [Loader] for when the size of a chunk's data is not
// known.
const AnySize = -1

// Loader reads chunks and proves them. It keeps its memory, which is that of the
// largest chunk so far, for the next call, and so is not for concurrent use: each
// goroutine has its own.
type Loader struct {
	store  *Store
	dec    *blob.Decoder
	stored []byte // of the last chunk that could be read

	decoded []byte // its data, where that had to be decoded
	data    []byte // its data
}

// NewLoader returns a Loader of chunks in s.
func (s *Store) NewLoader() *Loader {
	return &Loader{store: s, dec: blob.NewDecoder()}
}

// Close gives the memory back. It never fails, and may come twice.
func (l *Loader) Close() error {
	l.stored, l.decoded, l.data = nil, nil, nil
	return l.dec.Close()
}

// Load returns the data of a chunk, which is valid until the next call. The CRC was
// right, want bytes came out of it (or any number of them, with [AnySize]), and
// their digest is d.
//
// The errors are those of [Store.Load], a [*CorruptChunkError] when one of these
// does not hold, and blob.ErrNeedKey for an encrypted chunk whose CRC is right. Of
// a hostile chunk no more than want bytes are decoded.
func (l *Loader) Load(d digest.Digest, want int) ([]byte, error) {
	var err error
	if l.stored, err = l.store.Load(d, l.stored); err != nil {
		return nil, err
	}
	if err = l.decode(d, l.stored, want); err != nil {
		return nil, err
	}
	return l.data, nil
}

func (l *Loader) decode(d digest.Digest, stored []byte, want int) (err error) {
	err = l.unpack(stored, want)
	switch {
	case errors.Is(err, blob.ErrNeedKey):
		return fmt.Errorf("chunk %s: %w", d, err)
	case err != nil:
		return &CorruptChunkError{d, err}
	case want != AnySize && len(l.data) != want:
		return &CorruptChunkError{d, fmt.Errorf("it has %d bytes of data and not %d", len(l.data), want)}
	case digest.Of(l.data) != d:
		return &CorruptChunkError{d, errors.New("its data has another digest")}
	}
	return nil
}

// unpack makes the data of a stored chunk. That of a plain one is where it is, behind
// the header, and need not be copied.
func (l *Loader) unpack(stored []byte, want int) (err error) {
	header, err := blob.ParseHeader(stored)
	if err == nil && header.Kind == blob.Plain {
		l.data = stored[header.Size():]
		return blob.VerifyCRC(stored)
	}
	limit := want
	if want == AnySize {
		limit = blob.MaxSize
	}
	l.decoded, err = l.dec.Decode(l.decoded[:0], stored, limit)
	l.data = l.decoded
	return err
}

// examine proves a chunk as far as that goes without a key and returns its kind.
func (l *Loader) examine(d digest.Digest) (blob.Kind, error) {
	_, err := l.Load(d, AnySize)
	if err != nil && !errors.Is(err, blob.ErrNeedKey) {
		return 0, err
	}
	header, err := blob.ParseHeader(l.stored)
	return header.Kind, err
}
