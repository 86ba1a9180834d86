package bench

import (
	"crypto/sha256"
	"hash/crc32"
	"io"
	"os"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// eachBlock reads the image block by block into one buffer.
func eachBlock(b *testing.B, f *os.File, do func([]byte)) {
	b.Helper()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, block)
	for {
		n, err := f.Read(buffer)
		if err == io.EOF {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		do(buffer[:n])
	}
}

// hashing is S: reading the image and SHA-256 of it, on one core.
func hashing(b *testing.B, f *os.File) time.Duration {
	b.Helper()
	start := time.Now()
	eachBlock(b, f, func(data []byte) { sha256.Sum256(data) })
	return time.Since(start)
}

// computing is F: all that a first backup has to compute, on one core.
func computing(b *testing.B, f *os.File) time.Duration {
	b.Helper()
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	defer encoder.Close()
	var stored []byte
	start := time.Now()
	eachBlock(b, f, func(data []byte) {
		sha256.Sum256(data)
		stored = encoder.EncodeAll(data, stored[:0])
		if len(stored) >= len(data) {
			stored = append(stored[:0], data...)
		}
		crc32.ChecksumIEEE(stored)
	})
	return time.Since(start)
}

// compare runs the operation and the limit in turns, and reports the ratio of
// their fastest runs: what disturbs a run makes it slower, never faster.
func compare(b *testing.B, unit string, limit, operation func() time.Duration) {
	b.Helper()
	fastest, fastestLimit := time.Duration(0), time.Duration(0)
	for b.Loop() {
		if d := limit(); fastestLimit == 0 || d < fastestLimit {
			fastestLimit = d
		}
		if d := operation(); fastest == 0 || d < fastest {
			fastest = d
		}
	}
	b.ReportMetric(fastest.Seconds()/fastestLimit.Seconds(), unit)
	b.ReportMetric(fastest.Seconds(), "s")
	b.ReportMetric(0, "ns/op") // means nothing here: it is both together
}
