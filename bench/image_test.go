package bench

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

const block = 4 << 20

// words is a vocabulary for text that compresses to about a third.
func words(r *rand.Rand) []string {
	list := make([]string, 4000)
	for i := range list {
		word := make([]byte, 2+r.IntN(9))
		for j := range word {
			word[j] = byte('a' + r.IntN(26))
		}
		list[i] = string(word)
	}
	return list
}

// fill makes a block of the mix that disks hold: 30 % zeros, 30 % text, the rest incompressible.
func fill(b []byte, vocabulary []string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	switch kind := r.IntN(100); {
	case kind < 30:
		clear(b)
	case kind < 60:
		text := b[:0]
		for len(text)+16 < len(b) {
			text = fmt.Appendf(text, "%s ", vocabulary[r.IntN(1+r.IntN(len(vocabulary)))])
		}
	default:
		for i := 0; i+8 <= len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], r.Uint64())
		}
	}
}

// makeImage writes an image of so many blocks, of which each hundredth may be changed.
func makeImage(path string, blocks int, changed bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, block)
	b := make([]byte, block)
	vocabulary := words(rand.New(rand.NewPCG(12345, 7)))
	for i := range blocks {
		seed := uint64(i)
		if changed && i%100 == 37 {
			seed += 1 << 32
		}
		fill(b, vocabulary, seed)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return w.Flush()
}

// images gives two images, the second with 1 % changed. They are made once for all benchmarks.
var images = sync.OnceValues(func() ([2]string, error) {
	if given := os.Getenv("BENCH_DISK"); given != "" {
		if changed := os.Getenv("BENCH_DISK_CHANGED"); changed != "" {
			return [2]string{given, changed}, nil
		}
		return [2]string{given, given}, nil
	}
	dir, err := os.MkdirTemp("", "pbs-like-bench-")
	if err != nil {
		return [2]string{}, err
	}
	madeImages = dir
	paths := [2]string{filepath.Join(dir, "disk.raw"), filepath.Join(dir, "changed.raw")}
	for i, path := range paths {
		if err := makeImage(path, 128, i == 1); err != nil {
			return paths, err
		}
	}
	return paths, nil
})

// image opens one of the two images, with its content in the page cache.
func image(b *testing.B, number int) (*os.File, int64) {
	b.Helper()
	paths, err := images()
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(paths[number])
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	size, err := io.Copy(io.Discard, struct{ io.Reader }{f})
	if err != nil {
		b.Fatal(err)
	}
	return f, size
}

// madeImages is where they were made, if they were.
var madeImages string

func TestMain(m *testing.M) {
	code := m.Run()
	if madeImages != "" {
		_ = os.RemoveAll(madeImages)
	}
	os.Exit(code)
}
