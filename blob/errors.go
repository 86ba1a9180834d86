package blob

import "errors"

var (
	// ErrCorrupt is what every error about a blob's bytes unwraps to: too short,
	// an unknown magic, a wrong CRC, or compressed data that does not decode.
	ErrCorrupt = errors.New("corrupt blob")

	// ErrNeedKey is the answer to an encrypted blob where no key is at hand. It
	// says nothing about damage: CRC and header are fine.
	ErrNeedKey = errors.New("blob is encrypted and needs a key")

	// ErrTooLarge is the answer to data beyond MaxSize, or beyond the limit that
	// the caller of Decode gave.
	ErrTooLarge = errors.New("blob is too large")
)
