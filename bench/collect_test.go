package bench

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

// BenchmarkCollect collects a store with many references to few chunks, as many
// snapshots of the same machines have, beside merely reading its indexes.
func BenchmarkCollect(b *testing.B) {
	const chunks, snapshots, references = 50_000, 40, 47_500
	dir := b.TempDir()
	indexes := referenceStore(b, dir, chunks, snapshots, references)
	b.Run("read the indexes", func(b *testing.B) {
		for b.Loop() {
			for _, name := range indexes {
				if _, err := os.ReadFile(name); err != nil {
					b.Fatal(err)
				}
			}
		}
		perReference(b, snapshots*references)
	})
	b.Run("collect", func(b *testing.B) {
		store, err := datastore.Open(dir, datastore.Options{OnlyHost: true})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			report, err := store.Collect(b.Context(), datastore.CollectOptions{Cutoff: datastore.NoCutoff})
			if err != nil || report.DiskChunks != chunks || report.RemovedChunks != 0 || report.Missing != 0 {
				b.Fatalf("%+v, %v", report, err)
			}
		}
		perReference(b, snapshots*references)
	})
}

func perReference(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/ref")
}

func numbered(n int) digest.Digest {
	var text [8]byte
	binary.LittleEndian.PutUint64(text[:], uint64(n))
	return digest.Of(text[:])
}

// referenceStore makes chunk files and dynamic indexes; all chunks are named in them.
func referenceStore(b *testing.B, dir string, chunks, snapshots, references int) (indexes []string) {
	b.Helper()
	digests := make([]digest.Digest, chunks)
	for i := range digests {
		digests[i] = numbered(i)
		name := digests[i].String()
		parent := filepath.Join(dir, ".chunks", name[:4])
		must(b, os.MkdirAll(parent, 0o750))
		must(b, os.WriteFile(filepath.Join(parent, name), []byte("x"), 0o644))
	}
	for i := range snapshots {
		parent := filepath.Join(dir, "vm", "100", backupinfo.Time(1_700_000_000+i).String())
		must(b, os.MkdirAll(parent, 0o755))
		name := filepath.Join(parent, "disk.didx")
		var entries bytes.Buffer
		w := index.NewDynamicWriter(&entries)
		for n := range references {
			must(b, w.Add(uint64(n)+1, digests[(n+i*chunks/snapshots)%chunks]))
		}
		header, _, err := w.Finish([16]byte{}, 1)
		must(b, err)
		must(b, os.WriteFile(name, append(header, entries.Bytes()...), 0o644))
		indexes = append(indexes, name)
	}
	return indexes
}
