package keys

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

func readTestdata(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// vectors reads one of the tables that the original's own code wrote.
func vectors[T any](tb testing.TB, name string) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal(readTestdata(tb, name), &v); err != nil {
		tb.Fatal(err)
	}
	return v
}

func unhex(tb testing.TB, text string) [32]byte {
	tb.Helper()
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 32 {
		tb.Fatalf("%q: %d bytes, %v", text, len(b), err)
	}
	return [32]byte(b)
}

func newKey(tb testing.TB, raw [Size]byte) *Key {
	tb.Helper()
	k, err := New(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// k1 and k2 are the keys of the golden files and stores.
func k1(tb testing.TB) *Key {
	tb.Helper()
	return newKey(tb, [Size]byte(goldenspec.Bytes(tb, "xs64:77:32")))
}

func k2(tb testing.TB) *Key {
	tb.Helper()
	return newKey(tb, [Size]byte(goldenspec.Bytes(tb, "xs64:78:32")))
}

func parse(tb testing.TB, text []byte) *File {
	tb.Helper()
	f, err := ParseFile(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return f
}

func newFile(tb testing.TB, k *Key, passphrase string, opts FileOptions) *File {
	tb.Helper()
	if opts.Now.IsZero() {
		opts.Now = time.Date(2024, 1, 15, 10, 0, 0, 0, time.UTC)
	}
	f, err := NewFile(k, []byte(passphrase), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func marshal(tb testing.TB, f *File) string {
	tb.Helper()
	text, err := f.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
