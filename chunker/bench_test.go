package chunker

import (
	"crypto/sha256"
	"testing"
)

const benchSize = 64 << 20

func BenchmarkScan(b *testing.B) {
	for _, average := range []struct {
		name  string
		bytes int
	}{{"4MiB", 4 << 20}, {"512KiB", 512 << 10}, {"64KiB", 64 << 10}, {"4KiB", 4 << 10}} {
		b.Run(average.name, func(b *testing.B) {
			data := random(1, benchSize)
			k := rule(b, average.bytes).Chunker()
			b.SetBytes(benchSize)
			for b.Loop() {
				for rest := data; len(rest) > 0; {
					n := k.Scan(rest[:min(len(rest), 1<<20)])
					if n == 0 {
						n = min(len(rest), 1<<20)
					}
					rest = rest[n:]
				}
			}
		})
	}
}

// BenchmarkCandidates skips nothing: this is the speed of the search itself.
func BenchmarkCandidates(b *testing.B) {
	data := random(1, 1<<20)
	r := rule(b, 4<<20)
	var dst []uint64
	b.SetBytes(1 << 20)
	for b.Loop() {
		dst = r.Candidates(dst[:0], data, 0)
	}
}

func BenchmarkReference(b *testing.B) {
	data := random(1, 1<<20)
	k := &reference{avg: 4 << 20}
	b.SetBytes(1 << 20)
	for b.Loop() {
		k.scan(data)
	}
}

func BenchmarkSHA256(b *testing.B) {
	data := random(1, 1<<20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		sha256.Sum256(data)
	}
}
