package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

func numbered(n int) digest.Digest {
	var text [8]byte
	binary.LittleEndian.PutUint64(text[:], uint64(n))
	return digest.Of(text[:])
}

// fillReferences makes a store with all its chunk directories, with chunk files of
// a byte, and with snapshots of one image each that name all chunks between them,
// shifted from one to the next as the blocks of a disk are that changes.
func fillReferences(b *testing.B, dir string, chunks, snapshots, references int) {
	b.Helper()
	for i := range 1 << 16 {
		must(b, os.MkdirAll(filepath.Join(dir, ".chunks", fmt.Sprintf("%04x", i)), 0o750))
	}
	digests := make([]digest.Digest, chunks)
	for i := range digests {
		digests[i] = numbered(i)
		name := digests[i].String()
		must(b, os.WriteFile(filepath.Join(dir, ".chunks", name[:4], name), []byte("x"), 0o644))
	}
	for i := range snapshots {
		parent := filepath.Join(dir, "vm", "100", backupinfo.Time(1_700_000_000+i).String())
		must(b, os.MkdirAll(parent, 0o755))
		rotated := append(digests[i*chunks/snapshots:len(digests):len(digests)], digests[:i*chunks/snapshots]...)
		must(b, os.WriteFile(filepath.Join(parent, "drive-scsi0.img.fidx"), imageIndex(b, rotated[:references]), 0o644))
	}
}

// imageIndex is a fixed index with the chunks in that order.
func imageIndex(b *testing.B, digests []digest.Digest) []byte {
	b.Helper()
	var entries bytes.Buffer
	w, err := index.NewFixedWriter(&entries, block)
	must(b, err)
	for _, d := range digests {
		must(b, w.Add(d))
	}
	header, _, err := w.Finish(uint64(len(digests))*block, [16]byte{}, 1)
	must(b, err)
	return append(header, entries.Bytes()...)
}
