package keys

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"slices"
)

const (
	ivSize     = 16
	tagSize    = 16
	sealedSize = ivSize + tagSize + Size
)

// newAEAD returns AES-256-GCM with the format's IV, which is longer than usual.
func newAEAD(key [Size]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithNonceSize(block, ivSize)
}

// sealKey encrypts a key as key files hold it: IV, tag, ciphertext.
func sealKey(under, raw [Size]byte) ([]byte, error) {
	aead, err := newAEAD(under)
	if err != nil {
		return nil, err
	}
	iv := make([]byte, ivSize)
	_, _ = rand.Read(iv) // never fails
	sealed := aead.Seal(nil, iv, raw[:], nil)
	return slices.Concat(iv, sealed[Size:], sealed[:Size]), nil
}

// openKey undoes sealKey.
func openKey(under [Size]byte, sealed []byte) ([Size]byte, error) {
	aead, err := newAEAD(under)
	if err != nil {
		return [Size]byte{}, err
	}
	iv, tag, text := sealed[:ivSize], sealed[ivSize:ivSize+tagSize], sealed[ivSize+tagSize:]
	raw, err := aead.Open(nil, iv, slices.Concat(text, tag), nil)
	if err != nil {
		return [Size]byte{}, ErrWrongPassphrase
	}
	return [Size]byte(raw), nil
}
