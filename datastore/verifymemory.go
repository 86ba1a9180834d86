package datastore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
)

// VerifyMemory keeps what verifications that were cut off had proven of the snapshot
// they were in. [NewVerifyMemory] keeps it in a directory. What it gives back is
// trusted, so nobody but who verifies may write to it.
type VerifyMemory interface {
	// Load gives what was saved for a store, and the zero value where nothing was.
	Load(store StoreID) (VerifyProgress, error)
	// Save replaces it, whole or not at all. An empty value forgets it.
	Save(store StoreID, progress VerifyProgress) error
}

// StoreID tells a store from the others of this machine.
type StoreID [sha256.Size]byte

// String is the beginning of it in hexadecimal digits.
func (id StoreID) String() string { return hex.EncodeToString(id[:8]) }

// storeID is made of the path, too: devices change their numbers, and come to have those of others.
func (d *Datastore) storeID() StoreID {
	text := binary.LittleEndian.AppendUint64(nil, d.id.dev)
	text = binary.LittleEndian.AppendUint64(text, d.id.ino)
	return sha256.Sum256(append(text, d.path...))
}

// VerifyProgress is what was proven of snapshots whose verification was cut off.
type VerifyProgress struct {
	Snapshots []SnapshotProgress
}

// SnapshotProgress is what was proven of one snapshot.
type SnapshotProgress struct {
	// Name is its directory below the store's root, and Content the SHA-256 of what its manifest lists.
	Name    string
	Content [sha256.Size]byte
	// Since is when the first of the verifications began that proved it.
	Since time.Time
	// Proofs are in ascending order, each one once.
	Proofs []Proof
}

// Proof stands for a chunk that was read and is good: the first half of the SHA-256
// over its digest, the size of its data, its file's size, inode and time of
// modification, and how it was proven.
type Proof [16]byte

// proofOf makes the proof for a chunk in a file. kind says what was proven of it.
func proofOf(kind []byte, d digest.Digest, size int, info chunkstore.Info) (p Proof) {
	text := make([]byte, 0, 128)
	text = append(text, d[:]...)
	for _, n := range []uint64{uint64(size), uint64(info.Size), info.Inode, uint64(info.Modified.Unix()), uint64(info.Modified.Nanosecond())} {
		text = binary.LittleEndian.AppendUint64(text, n)
	}
	sum := sha256.Sum256(append(text, kind...))
	copy(p[:], sum[:])
	return p
}
