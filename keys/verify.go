package keys

import (
	"crypto/hmac"
	"encoding/hex"
)

// CheckFingerprint compares the key with the fingerprint that a backup names. A nil
// Key stands for none. The error is a *[WrongKeyError] or a *[MissingKeyError].
func (k *Key) CheckFingerprint(want [32]byte) error {
	switch {
	case k == nil:
		return &MissingKeyError{Fingerprint: want}
	case k.fingerprint != want:
		return &WrongKeyError{Want: want, Have: k.fingerprint}
	}
	return nil
}

// Verify checks the signature that a manifest carries: message is what it covers,
// signature its text, 64 lower-case hex digits. fingerprint is that of the key that
// the manifest names, or nil when it names none.
//
// A fingerprint that differs is a *[WrongKeyError] before the signature is looked
// at; otherwise the signature alone decides, and one that is not this key's is
// [ErrSignature]. It takes the same time wherever signatures differ.
func (k *Key) Verify(message []byte, signature string, fingerprint *[32]byte) error {
	switch {
	case fingerprint != nil:
		if err := k.CheckFingerprint(*fingerprint); err != nil {
			return err
		}
	case k == nil:
		return &MissingKeyError{}
	}
	mac := k.Sign(message)
	if !hmac.Equal([]byte(signature), hex.AppendEncode(nil, mac[:])) {
		return ErrSignature
	}
	return nil
}
