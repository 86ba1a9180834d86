package chunkstore

import (
	"crypto/cipher"
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
	info   Info   // of its file

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
// The digest of an encrypted chunk is the one under the store's key.
//
// The errors are those of [Store.Load], a [*CorruptChunkError] when one of these
// does not hold, and for an encrypted chunk whose CRC is right blob.ErrNeedKey
// where there is no key, and blob.ErrWrongKey where it does not open the chunk. Of
// a hostile chunk no more than want bytes are decoded.
func (l *Loader) Load(d digest.Digest, want int) ([]byte, error) {
	var err error
	if l.stored, l.info, err = l.store.load(d, l.stored); err != nil {
		return nil, err
	}
	if err = l.decode(d, l.stored, want); err != nil {
		return nil, err
	}
	return l.data, nil
}

// Info tells about the file that the last Load read, as it was just before it was
// read: whoever finds the same later knows that the content was not replaced since,
// nor changed by anything that does not hide it.
func (l *Loader) Info() Info { return l.info }

func (l *Loader) decode(d digest.Digest, stored []byte, want int) (err error) {
	err = l.unpack(stored, want)
	switch {
	case errors.Is(err, blob.ErrNeedKey), errors.Is(err, blob.ErrWrongKey):
		return fmt.Errorf("chunk %s: %w", d, err)
	case err != nil:
		return &CorruptChunkError{d, err}
	case want != AnySize && len(l.data) != want:
		return &CorruptChunkError{d, fmt.Errorf("it has %d bytes of data and not %d", len(l.data), want)}
	case l.digest(stored) != d:
		return &CorruptChunkError{d, errors.New("its data has another digest")}
	}
	return nil
}

// digest is the name that belongs to the data of a chunk which was decoded. What
// was encrypted decides: whoever has no key can't make the name of encrypted data.
func (l *Loader) digest(stored []byte) digest.Digest {
	if header, err := blob.ParseHeader(stored); err == nil && header.Kind.Encrypted() {
		return l.store.key.Digest(l.data)
	}
	return digest.Of(l.data)
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
	l.decoded, err = l.dec.DecodeWithKey(l.decoded[:0], stored, limit, l.store.aead())
	l.data = l.decoded
	return err
}

// aead is the encryption of the store's key, a true nil without one.
func (s *Store) aead() cipher.AEAD {
	if s.key == nil {
		return nil
	}
	return s.key.AEAD()
}

// examine proves a chunk, as far as that goes with the key at hand, and returns its
// kind. proven is false for an encrypted one that could only be checked without a key.
func (l *Loader) examine(d digest.Digest) (kind blob.Kind, proven bool, err error) {
	_, err = l.Load(d, AnySize)
	if err != nil && !errors.Is(err, blob.ErrNeedKey) {
		return 0, false, err
	}
	header, headerErr := blob.ParseHeader(l.stored)
	return header.Kind, err == nil, headerErr
}
