package keys

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"github.com/pbs-like/pbs-like/digest"
)

// Size is the length of a key in bytes.
const Size = 32

// Key is an encryption key, ready for use. It is safe for concurrent use.
type Key struct {
	s func() *secrets

	fingerprint [32]byte
}

type secrets struct {
	raw  [Size]byte
	id   [32]byte
	aead cipher.AEAD
}

// New returns the key with these bytes. It fails only where the process is bound
// to rules that forbid the format's encryption or derivation, as those of FIPS 140.
func New(raw [Size]byte) (*Key, error) {
	aead, err := newAEAD(raw)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	id, err := pbkdf2.Key(sha256.New, string(raw[:]), []byte("_id_key"), 10, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	k := &Key{s: hide(&secrets{raw: raw, id: [32]byte(id), aead: aead})}
	label := sha256.Sum256([]byte("Proxmox Backup Encryption Key Fingerprint"))
	k.fingerprint = k.Digest(label[:])
	return k, nil
}

// Generate returns a new random key. It fails like [New].
func Generate() (*Key, error) {
	var raw [Size]byte
	_, _ = rand.Read(raw[:]) // never fails: without random bytes the process ends
	return New(raw)
}

// AEAD returns the encryption of blobs: AES-256-GCM with an IV of 16 bytes, safe
// for concurrent use.
func (k *Key) AEAD() cipher.AEAD { return k.s().aead }

// Fingerprint returns what tells this key from others and gives nothing away.
func (k *Key) Fingerprint() [32]byte { return k.fingerprint }

// Digest returns the name of a chunk that is encrypted under this key. data is
// neither copied nor kept.
func (k *Key) Digest(data []byte) digest.Digest {
	var d digest.Digest
	h := sha256.New()
	h.Write(data)
	h.Write(k.s().id[:])
	h.Sum(d[:0])
	return d
}

// Sign returns the signature of a message.
func (k *Key) Sign(message []byte) [32]byte {
	h := hmac.New(sha256.New, k.s().id[:])
	h.Write(message)
	return [32]byte(h.Sum(nil))
}
