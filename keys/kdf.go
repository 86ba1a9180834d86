package keys

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"golang.org/x/crypto/scrypt"
)

// KDF is how the key that a key file is encrypted under comes from a passphrase.
type KDF string

// The ways that the format knows, by the names that people write.
const (
	Scrypt KDF = "scrypt" // costs time and memory, the default
	PBKDF2 KDF = "pbkdf2" // costs time only
	None   KDF = "none"   // no passphrase: the file is the secret
)

// ParseKDF accepts exactly "scrypt", "pbkdf2" and "none".
func ParseKDF(s string) (KDF, error) {
	switch kdf := KDF(s); kdf {
	case Scrypt, PBKDF2, None:
		return kdf, nil
	}
	return "", fmt.Errorf("key derivation %.32q: must be scrypt, pbkdf2 or none", s)
}

const (
	// What the original makes, and in practice all there is.
	defaultN, defaultR, defaultP = 65536, 8, 1
	defaultIterations            = 65535
	saltSize                     = 32

	// What a file may ask for: 256 MiB of memory, and seconds.
	maxScryptMemory = 256 << 20
	maxScryptWork   = 8 * defaultN * defaultR * defaultP
	maxIterations   = 10_000_000
	maxSalt         = 1024
)

// derivation is a KDF with its parameters.
type derivation struct {
	kdf        KDF
	n, r, p    uint64 // scrypt
	iterations uint64 // PBKDF2
	salt       []byte
}

// newDerivation returns the default parameters with a new salt.
func newDerivation(kdf KDF) derivation {
	d := derivation{kdf: kdf, salt: make([]byte, saltSize)}
	_, _ = rand.Read(d.salt) // never fails
	switch kdf {
	case PBKDF2:
		d.iterations = defaultIterations
	case None:
		d.salt = nil
	case Scrypt:
		d.n, d.r, d.p = defaultN, defaultR, defaultP
	}
	return d
}

// check bounds what deriving costs, before anything is spent.
func (d derivation) check() error {
	if len(d.salt) > maxSalt {
		return fmt.Errorf("salt of %d bytes, %d are allowed", len(d.salt), maxSalt)
	}
	switch d.kdf {
	case Scrypt:
		return d.checkScrypt()
	case PBKDF2:
		if d.iterations < 1 || d.iterations > maxIterations {
			return fmt.Errorf("pbkdf2 with iter %d: must be 1 to %d", d.iterations, maxIterations)
		}
	case None:
	}
	return nil
}

func (d derivation) checkScrypt() error {
	// Each alone first, so that no product overflows.
	const most = maxScryptWork
	switch {
	case d.n < 2 || d.n&(d.n-1) != 0:
		return fmt.Errorf("scrypt with n %d: must be a power of two, 2 at least", d.n)
	case d.r < 1 || d.p < 1:
		return fmt.Errorf("scrypt with r %d and p %d: must be 1 at least", d.r, d.p)
	case d.n > most || d.r > most || d.p > most || d.n*d.r > most || d.n*d.r*d.p > most:
		return fmt.Errorf("scrypt with n %d, r %d, p %d: n·r·p may be %d", d.n, d.r, d.p, most)
	case 128*d.r*d.n > maxScryptMemory || 128*d.r*d.p > maxScryptMemory/8:
		return fmt.Errorf("scrypt with n %d, r %d, p %d: takes more than %d MiB of memory", d.n, d.r, d.p, maxScryptMemory>>20)
	}
	return nil
}

// derive returns the key that a key file is encrypted under.
func (d derivation) derive(passphrase []byte) ([Size]byte, error) {
	if err := d.check(); err != nil {
		return [Size]byte{}, err
	}
	var key []byte
	var err error
	switch d.kdf {
	case Scrypt:
		key, err = scrypt.Key(passphrase, d.salt, int(d.n), int(d.r), int(d.p), Size)
	case PBKDF2:
		key, err = pbkdf2.Key(sha256.New, string(passphrase), d.salt, int(d.iterations), Size)
	case None:
		return [Size]byte{}, errors.New("no key derivation")
	}
	if err != nil {
		return [Size]byte{}, err
	}
	return [Size]byte(key), nil
}
