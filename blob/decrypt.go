package blob

import (
	"crypto/cipher"
	"fmt"
	"slices"
)

// DecodeWithKey is Decode for blobs that may be encrypted, under a key as for
// [Encoder.EncodeEncrypted]. A blob that is not encrypted needs no key and ignores
// it. A key of nil is none: encrypted blobs are ErrNeedKey then.
//
// A blob that the key does not open is ErrWrongKey. The CRC is checked before, so
// that a damaged payload is ErrCorrupt whatever the key. What the key opens and zstd
// does not decode is ErrCorrupt too: its writer made it so.
//
// A blob that is both encrypted and compressed takes as much memory again as stored
// has.
func (d *Decoder) DecodeWithKey(dst, stored []byte, limit int, key cipher.AEAD) ([]byte, error) {
	h, err := verify(stored)
	if err != nil {
		return dst, err
	}
	limit = min(max(limit, 0), MaxSize)
	switch {
	case !h.Kind.Encrypted():
		return d.unpack(dst, stored[h.Size():], h.Kind, limit)
	case key == nil:
		return dst, ErrNeedKey
	}
	if err := checkKey(key); err != nil {
		return dst, err
	}
	return d.decrypt(dst, stored, h.Kind, limit, key)
}

func (d *Decoder) decrypt(dst, stored []byte, kind Kind, limit int, key cipher.AEAD) ([]byte, error) {
	if kind.Compressed() {
		opened, err := open(d.opened[:0], stored, key)
		d.opened = opened[:0]
		if err != nil {
			return dst, err
		}
		return d.decompress(dst, opened, limit)
	}
	if len(stored)-EncryptedHeaderSize > limit {
		return dst, tooLarge(limit)
	}
	return open(dst, stored, key)
}

// open appends the decrypted payload of a blob to dst.
//
// The payload is copied there first: the tag has to follow it, which is in front
// of it in the blob, and stored is the caller's.
func open(dst, stored []byte, key cipher.AEAD) ([]byte, error) {
	payload := stored[EncryptedHeaderSize:]
	iv, tag := stored[HeaderSize:HeaderSize+ivSize], stored[HeaderSize+ivSize:EncryptedHeaderSize]
	// The slack of unpack has room for the tag.
	buf := append(slices.Grow(dst, len(payload)+slack), payload...)
	buf = append(buf, tag...)
	out, err := key.Open(buf[:len(dst)], iv, buf[len(dst):], nil)
	if err != nil {
		return dst, fmt.Errorf("encrypted blob: %w", ErrWrongKey)
	}
	return out, nil
}
