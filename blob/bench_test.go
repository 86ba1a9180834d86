package blob_test

import (
	"encoding/base64"
	"hash/crc32"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

const benchSize = 4 << 20

type sample struct {
	name string
	data []byte
}

func samples(tb testing.TB) []sample {
	tb.Helper()
	random := goldenspec.Bytes(tb, "xs64:1:4M")
	return []sample{
		{"text", goldenspec.Bytes(tb, "text:1:4M")},
		{"base64", []byte(base64.StdEncoding.EncodeToString(random))[:benchSize]},
		{"random", random},
		{"repeated", goldenspec.Bytes(tb, "rep:1:4096:4M")},
		{"zero", make([]byte, benchSize)},
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, s := range samples(b) {
		b.Run(s.name, func(b *testing.B) {
			enc := blob.NewEncoder()
			defer enc.Close()
			b.SetBytes(benchSize)
			b.ReportAllocs()
			buf, _ := enc.Encode(nil, s.data) // warm
			for b.Loop() {
				var err error
				if buf, err = enc.Encode(buf[:0], s.data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(benchSize/float64(len(buf)), "ratio")
		})
	}
}

func BenchmarkEncodePlain(b *testing.B) {
	enc := blob.NewEncoder()
	defer enc.Close()
	data := make([]byte, benchSize)
	b.SetBytes(benchSize)
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf, _ = enc.EncodePlain(buf[:0], data)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, s := range samples(b) {
		b.Run(s.name, func(b *testing.B) {
			enc, dec := blob.NewEncoder(), blob.NewDecoder()
			defer enc.Close()
			defer dec.Close()
			stored, err := enc.Encode(nil, s.data)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(benchSize)
			b.ReportAllocs()
			buf, _ := dec.Decode(nil, stored, benchSize) // warm
			for b.Loop() {
				if buf, err = dec.Decode(buf[:0], stored, benchSize); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeEncrypted(b *testing.B) {
	key := otherKey(b)
	for _, s := range samples(b) {
		b.Run(s.name, func(b *testing.B) {
			enc := blob.NewEncoder()
			defer enc.Close()
			b.SetBytes(benchSize)
			b.ReportAllocs()
			buf, _ := enc.EncodeEncrypted(nil, s.data, key) // warm
			for b.Loop() {
				var err error
				if buf, err = enc.EncodeEncrypted(buf[:0], s.data, key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeWithKey(b *testing.B) {
	key := otherKey(b)
	for _, s := range samples(b) {
		b.Run(s.name, func(b *testing.B) {
			enc, dec := blob.NewEncoder(), blob.NewDecoder()
			defer enc.Close()
			defer dec.Close()
			stored, err := enc.EncodeEncrypted(nil, s.data, key)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(benchSize)
			b.ReportAllocs()
			buf, _ := dec.DecodeWithKey(nil, stored, benchSize, key) // warm
			for b.Loop() {
				if buf, err = dec.DecodeWithKey(buf[:0], stored, benchSize, key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerifyCRC(b *testing.B) {
	stored, err := blob.NewEncoder().EncodePlain(nil, make([]byte, benchSize))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(benchSize)
	for b.Loop() {
		if err := blob.VerifyCRC(stored); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCRC32 is the limit for the one above.
func BenchmarkCRC32(b *testing.B) {
	data := make([]byte, benchSize)
	b.SetBytes(benchSize)
	for b.Loop() {
		_ = crc32.ChecksumIEEE(data)
	}
}
