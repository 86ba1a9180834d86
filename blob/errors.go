package blob

import "errors"

var (
	// ErrCorrupt is what every error about a blob's bytes unwraps to: too short,
	// an unknown magic, a wrong CRC, or compressed data that does not decode.
	ErrCorrupt = errors.New("corrupt blob")

	// ErrNeedKey is the answer to an encrypted blob where no key is at hand. It
	// says nothing about damage: CRC and header are fine.
	ErrNeedKey = errors.New("blob is encrypted and needs a key")

	// ErrWrongKey is the answer to an encrypted blob that the key at hand does not
	// open although its CRC is right: it is another key's, or was tampered with, and
	// nobody can tell which. Damage to IV and tag, 32 bytes in front that the CRC
	// does not cover, looks the same.
	ErrWrongKey = errors.New("wrong key, or tampered with")

	// ErrTooLarge is the answer to data beyond MaxSize, or beyond the limit that
	// the caller of Decode gave.
	ErrTooLarge = errors.New("blob is too large")
)
