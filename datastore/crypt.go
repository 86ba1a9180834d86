package datastore

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/keys"
)

// KeyCopyName is the file that holds [BackupOptions].KeyCopy in a snapshot.
const KeyCopyName = "rsa-encrypted.key.blob"

// crypt is how a backup protects its data. The zero value leaves it as it is.
type crypt struct {
	mode backupinfo.CryptMode
	key  *keys.Key // nil if and only if the mode is none
}

// newCrypt makes sure that who gave a key, or asked for encryption, does not get plain data.
func newCrypt(opts BackupOptions) (crypt, error) {
	mode := opts.CryptMode
	if mode == "" && opts.Key != nil {
		mode = backupinfo.CryptEncrypt
	}
	if mode == "" || mode == backupinfo.CryptNone {
		if opts.KeyCopy != nil {
			return crypt{}, errors.New("a copy of the key goes into a backup that is made with a key, and this one is not")
		}
		return crypt{mode: backupinfo.CryptNone}, nil
	}
	if _, err := backupinfo.ParseCryptMode(string(mode)); err != nil {
		return crypt{}, err
	}
	if opts.Key == nil {
		return crypt{}, fmt.Errorf("crypt mode %q: %w", mode, &keys.MissingKeyError{})
	}
	return crypt{mode, opts.Key}, nil
}

// dataKey is the key that data is encrypted under, nil where it is not.
func (c crypt) dataKey() *keys.Key {
	if c.mode != backupinfo.CryptEncrypt {
		return nil
	}
	return c.key
}

// encode makes the stored form of data.
func (c crypt) encode(encoder *blob.Encoder, dst, data []byte) ([]byte, error) {
	if key := c.dataKey(); key != nil {
		return encoder.EncodeEncrypted(dst, data, key.AEAD())
	}
	return encoder.Encode(dst, data)
}

// aeadOf is a key's encryption, a true nil without one.
func aeadOf(key *keys.Key) cipher.AEAD {
	if key == nil {
		return nil
	}
	return key.AEAD()
}

// digestUnder is the name of a chunk with this data.
func digestUnder(key *keys.Key, data []byte) digest.Digest {
	if key != nil {
		return key.Digest(data)
	}
	return digest.Of(data)
}

// errOtherNames says that the chunks of a base are not those of this backup, whatever the data is.
var errOtherNames = errors.New("its chunks have other names")

// knows tells whether the chunks of a base are named as those of this backup. An
// encrypted base has to be of the same key, and signed with it: a manifest that
// somebody else wrote vouches for nothing.
func (c crypt) knows(base *backupinfo.Manifest) error {
	if c.mode == backupinfo.CryptEncrypt {
		signature, err := authenticate(base, c.key)
		if err == nil && signature != SignatureOK {
			err = errors.New("it is not signed with the key of this backup")
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errOtherNames, err)
		}
	}
	indexes := base.Files()
	indexes = slices.DeleteFunc(indexes, func(f backupinfo.File) bool { return f.Kind() == backupinfo.Blob })
	if len(indexes) == 0 || slices.ContainsFunc(indexes, func(f backupinfo.File) bool { return c.sameNames(f.CryptMode) }) {
		return nil
	}
	return fmt.Errorf("%w: one is encrypted and the other is not", errOtherNames)
}

// sameNames tells whether chunks of a mode are named as those of this backup: encrypted ones are not as others.
func (c crypt) sameNames(mode backupinfo.CryptMode) bool {
	return (mode == backupinfo.CryptEncrypt) == (c.mode == backupinfo.CryptEncrypt)
}
