package digest_test

import (
	"testing"

	"github.com/pbs-like/pbs-like/digest"
)

func BenchmarkOf4MiB(b *testing.B) {
	data := make([]byte, 4<<20)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_ = digest.Of(data)
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = digest.Parse(helloWorld)
	}
}
