package chunkstore

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/pbs-like/pbs-like/digest"
)

// BenchmarkInsert includes a sync of the file system at the end.
func BenchmarkInsert(b *testing.B) {
	for _, size := range []int{128 << 10, 1 << 20, 4 << 20} {
		for _, direct := range []bool{true, false} {
			b.Run(fmt.Sprintf("%dKiB/direct=%v", size>>10, direct), func(b *testing.B) {
				s := newStore(b)
				s.direct.Store(direct && directPays(s.chunks))
				data := make([]byte, size)
				random(1, data)
				stored := append(make([]byte, 0, size+1<<16), mustEncode(b, data)...)
				var d digest.Digest
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for i := uint64(0); b.Loop(); i++ {
					binary.BigEndian.PutUint64(d[:], i*0x9E3779B97F4A7C15)
					if _, err := s.Insert(b.Context(), d, stored); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.disk.SyncFS(s.chunks); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

func BenchmarkReuse(b *testing.B) {
	s := newStore(b)
	c := newSample(sampleSeed, sampleSize)
	put(b, s, c.digest, c.small)
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := s.Reuse(c.digest); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	s := newStore(b)
	c := newSample(sampleSeed, sampleSize)
	put(b, s, c.digest, c.small)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Lookup(c.digest); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoader reads a chunk that is in the page cache, and proves it.
func BenchmarkLoader(b *testing.B) {
	s := newStore(b)
	data := make([]byte, 4<<20)
	random(1, data)
	d := digest.Of(data)
	if _, err := s.Insert(b.Context(), d, mustEncode(b, data)); err != nil {
		b.Fatal(err)
	}
	l := s.NewLoader()
	defer l.Close()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Load(d, len(data)); err != nil {
			b.Fatal(err)
		}
	}
}
