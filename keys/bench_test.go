package keys

import (
	"crypto/sha256"
	"testing"
)

const benchSize = 4 << 20

func BenchmarkDigest(b *testing.B) {
	k := k1(b)
	data := make([]byte, benchSize)
	b.SetBytes(benchSize)
	b.ReportAllocs()
	for b.Loop() {
		_ = k.Digest(data)
	}
}

// BenchmarkSHA256 is the limit for the one above.
func BenchmarkSHA256(b *testing.B) {
	data := make([]byte, benchSize)
	b.SetBytes(benchSize)
	for b.Loop() {
		_ = sha256.Sum256(data)
	}
}

func BenchmarkUnlockScrypt(b *testing.B) {
	f := parse(b, readTestdata(b, "k1-scrypt.json"))
	for b.Loop() {
		if _, err := f.Unlock([]byte("golden-scrypt-pass")); err != nil {
			b.Fatal(err)
		}
	}
}
