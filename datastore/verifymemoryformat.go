package datastore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// The file of a memory, in little-endian order:
//
//	magic, with the version, and the identity of the store
//	for each snapshot: seconds since 1970, content, length and text of its name,
//	number of proofs, proofs
//	SHA-256 of all that
const (
	memoryMagic = "pbs-like verify\x01"
	// maxMemory bounds the file: 4 million chunks, 16 TiB of an image.
	maxMemory = 64 << 20
	// maxProofs bounds what is remembered, so that it fits into the file.
	maxProofs = (maxMemory - 1<<20) / len(Proof{})
	// maxRemembered bounds how many snapshots are, with their names.
	maxRemembered     = 128
	maxRememberedName = 4 << 10
)

// encodeProgress gives the content of the file.
func encodeProgress(store StoreID, progress VerifyProgress) []byte {
	size := len(memoryMagic) + len(store) + sha256.Size
	for _, s := range progress.Snapshots {
		size += 64 + len(s.Name) + len(s.Proofs)*len(Proof{})
	}
	out := append(make([]byte, 0, size), memoryMagic...)
	out = append(out, store[:]...)
	for _, s := range progress.Snapshots {
		out = binary.LittleEndian.AppendUint64(out, uint64(s.Since.Unix()))
		out = append(out, s.Content[:]...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(s.Name)))
		out = append(out, s.Name...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(s.Proofs)))
		for _, p := range s.Proofs {
			out = append(out, p[:]...)
		}
	}
	return withChecksum(out)
}

func withChecksum(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(body, sum[:]...)
}

// parseProgress reads it. The error is [ErrCorrupt] for whatever encodeProgress
// does not write, and for what was written about another store.
func parseProgress(store StoreID, data []byte) (progress VerifyProgress, err error) {
	body := len(data) - sha256.Size
	if body < len(memoryMagic)+len(store) || string(data[:len(memoryMagic)]) != memoryMagic {
		return progress, fmt.Errorf("%w: it does not begin as what this version writes", ErrCorrupt)
	}
	if sum := sha256.Sum256(data[:body]); !bytes.Equal(sum[:], data[body:]) {
		return progress, fmt.Errorf("%w: it has another checksum", ErrCorrupt)
	}
	rest := data[len(memoryMagic):body]
	if !bytes.Equal(rest[:len(store)], store[:]) {
		return progress, fmt.Errorf("%w: it is about another store", ErrCorrupt)
	}
	for rest = rest[len(store):]; len(rest) > 0; {
		var s SnapshotProgress
		if s, rest, err = parseSnapshotProgress(rest); err != nil {
			return VerifyProgress{}, err
		}
		progress.Snapshots = append(progress.Snapshots, s)
		if len(progress.Snapshots) > maxRemembered {
			return VerifyProgress{}, fmt.Errorf("%w: too many snapshots", ErrCorrupt)
		}
	}
	return progress, nil
}

func parseSnapshotProgress(data []byte) (s SnapshotProgress, rest []byte, err error) {
	cut := func(n int) []byte {
		if n > len(data) {
			data, err = nil, fmt.Errorf("%w: it ends early", ErrCorrupt)
			return make([]byte, min(n, 64)) // read as zeros; the error is what counts
		}
		part := data[:n]
		data = data[n:]
		return part
	}
	s.Since = time.Unix(int64(binary.LittleEndian.Uint64(cut(8))), 0)
	copy(s.Content[:], cut(len(s.Content)))
	length := binary.LittleEndian.Uint32(cut(4))
	if length > maxRememberedName {
		return s, nil, fmt.Errorf("%w: a name of %d bytes", ErrCorrupt, length)
	}
	s.Name = string(cut(int(length)))
	count := binary.LittleEndian.Uint32(cut(4))
	if err == nil && int64(count) > int64(len(data)/len(Proof{})) {
		err = fmt.Errorf("%w: it ends early", ErrCorrupt)
	}
	if err != nil {
		return s, nil, err
	}
	s.Proofs = make([]Proof, count)
	for i := range s.Proofs {
		copy(s.Proofs[i][:], cut(len(Proof{})))
		if i > 0 && compareProofs(s.Proofs[i-1], s.Proofs[i]) >= 0 {
			return s, nil, fmt.Errorf("%w: proofs out of order", ErrCorrupt)
		}
	}
	return s, data, nil
}

func compareProofs(a, b Proof) int { return bytes.Compare(a[:], b[:]) }

// has tells whether a proof is there.
func (s *SnapshotProgress) has(p Proof) bool {
	_, found := slices.BinarySearchFunc(s.Proofs, p, compareProofs)
	return found
}
