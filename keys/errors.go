package keys

import (
	"errors"
	"fmt"

	"github.com/pbs-like/pbs-like/blob"
)

var (
	// ErrFile is what every error about the bytes of a key file, or of a master key,
	// unwraps to.
	ErrFile = errors.New("not a valid key file")

	// ErrWrongPassphrase is for a passphrase that does not open a key file or the
	// private master key. A file whose secret part was damaged looks the same.
	ErrWrongPassphrase = errors.New("wrong passphrase")

	// ErrShortPassphrase is for fewer than MinPassphrase bytes, which no key file
	// has, nor gets.
	ErrShortPassphrase = fmt.Errorf("passphrase is shorter than %d bytes", MinPassphrase)

	// ErrSignature is for a signature that does not belong to the message and the
	// key. Where the fingerprint is right, the message was changed.
	ErrSignature = errors.New("wrong signature")

	// ErrWrongMasterKey is for the copy of a key that the private master key at hand
	// does not open.
	ErrWrongMasterKey = errors.New("wrong master key, or a damaged copy of the key")
)

// WrongKeyError is for a key that is another one than was used. It unwraps to
// [blob.ErrWrongKey].
type WrongKeyError struct {
	Want, Have [32]byte // fingerprints: of the key that was used, of the one at hand
}

func (e *WrongKeyError) Error() string {
	return fmt.Sprintf("wrong key: made with key %s, and the key at hand is %s", short(e.Want), short(e.Have))
}

// Unwrap returns [blob.ErrWrongKey].
func (e *WrongKeyError) Unwrap() error { return blob.ErrWrongKey }

// MissingKeyError is for no key where one was used. It unwraps to
// [blob.ErrNeedKey].
type MissingKeyError struct {
	Fingerprint [32]byte // of the key that was used, zero when unknown
}

func (e *MissingKeyError) Error() string {
	if e.Fingerprint == [32]byte{} {
		return "missing key"
	}
	return fmt.Sprintf("missing key: made with key %s", short(e.Fingerprint))
}

// Unwrap returns [blob.ErrNeedKey].
func (e *MissingKeyError) Unwrap() error { return blob.ErrNeedKey }
