package datastore

import (
	"errors"
	"fmt"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/keys"
)

// Signature is what is known about the signature of a snapshot's manifest.
type Signature string

// The kinds of knowledge about a signature.
const (
	SignatureNone      Signature = ""            // there is none
	SignatureUnchecked Signature = "not-checked" // there is one, and no key to check it, or another one
	SignatureOK        Signature = "ok"          // made with the key at hand, over the manifest as it is
	SignatureWrong     Signature = "wrong"       // not what the key at hand makes of the manifest
)

// authenticate compares a manifest with a key, which may be nil. The error is a
// *keys.WrongKeyError where the manifest names another key, and otherwise
// keys.ErrSignature, which is [ErrCorrupt] too where the manifest names this key.
//
// A manifest without signature passes with the key that it names, and where it
// names none with any: that is how the original reads it.
func authenticate(manifest *backupinfo.Manifest, key *keys.Key) (Signature, error) {
	signature, signed := manifest.Signature()
	if key == nil {
		return unchecked(signed), nil
	}
	named, err := namedKey(manifest)
	if err != nil {
		return unchecked(signed), err
	}
	if named != nil {
		if err := key.CheckFingerprint(*named); err != nil {
			return unchecked(signed), err
		}
	}
	if !signed {
		return SignatureNone, nil
	}
	message, err := manifest.SigningBytes()
	if err != nil {
		return SignatureWrong, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	err = key.Verify(message, signature, named)
	switch {
	case err == nil:
		return SignatureOK, nil
	case named != nil && errors.Is(err, keys.ErrSignature):
		err = fmt.Errorf("%w: the manifest was changed by somebody without the key: %w", ErrCorrupt, err)
	}
	return SignatureWrong, err
}

func unchecked(signed bool) Signature {
	if signed {
		return SignatureUnchecked
	}
	return SignatureNone
}

// namedKey is the fingerprint of the key that a manifest was made with, nil where it names none.
func namedKey(manifest *backupinfo.Manifest) (*[32]byte, error) {
	named, err := manifest.Fingerprint()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return (*[32]byte)(named), nil
}

// sign makes the manifest one of this key. Entries can't be added any more, or the
// signature is gone.
func sign(manifest *backupinfo.Manifest, key *keys.Key) error {
	if err := manifest.SetFingerprint(key.Fingerprint()); err != nil {
		return err
	}
	message, err := manifest.SigningBytes()
	if err != nil {
		return err
	}
	manifest.SetSignature(key.Sign(message))
	return nil
}
