package index_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/pbs-like/pbs-like/index"
)

const benchChunks = 100_000

func benchReader(b *testing.B, raw []byte) *index.Reader {
	b.Helper()
	x, err := open(raw, kindOfBytes(raw))
	must(b, err)
	return x
}

func BenchmarkChunkInOrder(b *testing.B) {
	x := benchReader(b, dynamic(b, benchChunks))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := x.Chunk(i % benchChunks); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkChunkAtRandom(b *testing.B) {
	x := benchReader(b, dynamic(b, benchChunks))
	b.ReportAllocs()
	i := uint64(1)
	for b.Loop() {
		i = i*6364136223846793005 + 1442695040888963407
		if _, err := x.ChunkAt(i % x.Size()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigests(b *testing.B) {
	for name, raw := range map[string][]byte{"fixed": fixed(b, benchChunks), "dynamic": dynamic(b, benchChunks)} {
		b.Run(name, func(b *testing.B) {
			x := benchReader(b, raw)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range x.Digests(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkComputeChecksum(b *testing.B) {
	raw := dynamic(b, benchChunks)
	x := benchReader(b, raw)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		_, err := x.ComputeChecksum(b.Context())
		must(b, err)
	}
}

func BenchmarkDynamicWriter(b *testing.B) {
	d := numbered(1)
	b.SetBytes(40 * benchChunks)
	b.ReportAllocs()
	for b.Loop() {
		w := index.NewDynamicWriter(io.Discard)
		for i := range uint64(benchChunks) {
			if err := w.Add(i+1, d); err != nil {
				b.Fatal(err)
			}
		}
		_, _, err := w.Finish([16]byte{}, 0)
		must(b, err)
	}
}

func BenchmarkOpen(b *testing.B) {
	raw := dynamic(b, 100)
	b.ReportAllocs()
	for b.Loop() {
		_, err := index.Open(bytes.NewReader(raw), int64(len(raw)), index.Dynamic)
		must(b, err)
	}
}
