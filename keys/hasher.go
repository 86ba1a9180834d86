package keys

import (
	"crypto/sha256"
	"hash"

	"github.com/pbs-like/pbs-like/digest"
)

// Hasher is [Key.Digest] for data that comes in pieces. It is an [io.Writer] whose
// Write never fails, and is not for concurrent use.
type Hasher struct {
	key *Key
	h   hash.Hash
	sum digest.Digest // here, so that Digest allocates nothing
}

// NewHasher returns a Hasher that has seen no data.
func (k *Key) NewHasher() *Hasher { return &Hasher{key: k, h: sha256.New()} }

// Write adds a piece of the data.
func (h *Hasher) Write(p []byte) (int, error) { return h.h.Write(p) }

// Digest returns the digest of all pieces since the last call, and begins anew.
func (h *Hasher) Digest() digest.Digest {
	h.h.Write(h.key.s().id[:])
	h.h.Sum(h.sum[:0])
	h.h.Reset()
	return h.sum
}
