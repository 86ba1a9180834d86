package blob

import (
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"slices"
)

// EncodeEncrypted is Encode with the payload encrypted under the given key, an
// AEAD with an IV and a tag of 16 bytes. The data is compressed before, where that
// is strictly smaller. The IV is random, so that no two calls return the same.
//
// An AEAD of other sizes, or nil, is an error.
func (e *Encoder) EncodeEncrypted(dst, data []byte, key cipher.AEAD) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return dst, err
	}
	out, compressed, err := e.pack(dst, data, EncryptedHeaderSize)
	if err != nil {
		return dst, err
	}
	kind := Encrypted
	if compressed {
		kind = ZstdEncrypted
	}
	out = slices.Grow(out, tagSize) // so that encryption stays in place
	encrypt(out[len(dst):], key, kind)
	return out, nil
}

// encrypt encrypts the payload of a blob in its place and writes the header. There
// has to be room for a tag behind.
func encrypt(stored []byte, key cipher.AEAD, kind Kind) {
	iv := stored[HeaderSize : HeaderSize+ivSize]
	// Never fails: without random bytes the process ends.
	_, _ = rand.Read(iv)
	sealed := key.Seal(stored[EncryptedHeaderSize:EncryptedHeaderSize], iv, stored[EncryptedHeaderSize:], nil)
	// The format has the tag in front.
	copy(stored[HeaderSize+ivSize:EncryptedHeaderSize], sealed[len(sealed)-tagSize:])
	seal(stored, kind)
}

func checkKey(key cipher.AEAD) error {
	if key == nil {
		return fmt.Errorf("encrypt a blob: %w", ErrNeedKey)
	}
	if key.NonceSize() != ivSize || key.Overhead() != tagSize {
		return fmt.Errorf("key with an IV of %d bytes and a tag of %d: blobs have %d and %d", key.NonceSize(), key.Overhead(), ivSize, tagSize)
	}
	return nil
}
