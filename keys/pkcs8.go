package keys

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"hash"
	"slices"
)

// Private keys under a passphrase are PKCS #8 (RFC 5958) with PBES2 (RFC 8018),
// which the standard library does not decrypt.

type encryptedPKCS8 struct {
	Algorithm struct {
		ID     asn1.ObjectIdentifier
		Params struct {
			KDF struct {
				ID     asn1.ObjectIdentifier
				Params pbkdf2Params
			}
			Cipher struct {
				ID asn1.ObjectIdentifier
				IV []byte
			}
		}
	}
	Data []byte
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

const (
	oidPBES2  = "1.2.840.113549.1.5.13"
	oidPBKDF2 = "1.2.840.113549.1.5.12"
)

// decryptPKCS8 returns the DER of the private key. A wrong passphrase shows in the
// padding or in what comes out.
func decryptPKCS8(der, passphrase []byte) ([]byte, error) {
	var e encryptedPKCS8
	if rest, err := asn1.Unmarshal(der, &e); err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("%w: not PKCS #8 with PBES2 and PBKDF2", ErrFile)
	}
	block, err := e.cipher(passphrase)
	if err != nil {
		return nil, err
	}
	iv, data := e.Algorithm.Params.Cipher.IV, slices.Clone(e.Data)
	if len(iv) != aes.BlockSize || len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, fmt.Errorf("%w: not whole blocks of AES", ErrFile)
	}
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(data, data)
	return unpad(data)
}

// unpad removes the padding of PKCS #7, and what can't be a DER sequence.
func unpad(data []byte) ([]byte, error) {
	const sequence = 0x30
	n := int(data[len(data)-1])
	if n < 1 || n > aes.BlockSize || data[0] != sequence {
		return nil, ErrWrongPassphrase
	}
	text, padding := data[:len(data)-n], data[len(data)-n:]
	if slices.ContainsFunc(padding, func(b byte) bool { return int(b) != n }) {
		return nil, ErrWrongPassphrase
	}
	return text, nil
}

func (e *encryptedPKCS8) cipher(passphrase []byte) (cipher.Block, error) {
	a := e.Algorithm
	kdf := a.Params.KDF
	newHash, size := hashOf(kdf.Params.PRF), keySizeOf(a.Params.Cipher.ID)
	if a.ID.String() != oidPBES2 || kdf.ID.String() != oidPBKDF2 || newHash == nil || size == 0 {
		return nil, fmt.Errorf("%w: encrypted with other than PBKDF2 and AES-CBC", ErrFile)
	}
	p := kdf.Params
	if p.Iterations < 1 || p.Iterations > maxIterations || len(p.Salt) > maxSalt || p.KeyLength != 0 && p.KeyLength != size {
		return nil, fmt.Errorf("%w: PBKDF2 with %d rounds, salt of %d bytes, key of %d", ErrFile, p.Iterations, len(p.Salt), p.KeyLength)
	}
	key, err := pbkdf2.Key(newHash, string(passphrase), p.Salt, p.Iterations, size)
	if err != nil {
		return nil, err
	}
	return aes.NewCipher(key)
}

// hashOf returns the hash below PBKDF2's HMAC, or nil.
func hashOf(prf pkix.AlgorithmIdentifier) func() hash.Hash {
	switch prf.Algorithm.String() {
	case "", "1.2.840.113549.2.7": // hmacWithSHA1, the default
		return sha1.New
	case "1.2.840.113549.2.9": // hmacWithSHA256, what OpenSSL writes
		return sha256.New
	case "1.2.840.113549.2.11": // hmacWithSHA512
		return sha512.New
	}
	return nil
}

// keySizeOf returns the key size of a cipher in bytes, or 0.
func keySizeOf(id asn1.ObjectIdentifier) int {
	switch id.String() {
	case "2.16.840.1.101.3.4.1.2": // AES-128-CBC
		return 16
	case "2.16.840.1.101.3.4.1.22": // AES-192-CBC
		return 24
	case "2.16.840.1.101.3.4.1.42": // AES-256-CBC
		return 32
	}
	return 0
}
