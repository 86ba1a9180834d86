package chunkstore

import (
	"bytes"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

const (
	sampleSeed = 1
	sampleSize = 10_000
)

// sample is a chunk in three stored forms.
type sample struct {
	digest    digest.Digest
	data      []byte
	large     []byte // plain
	small     []byte // compressed
	encrypted []byte // by a key that nobody has
}

func newSample(seed byte, size int) sample {
	line := make([]byte, 100)
	random(seed, line)
	data := bytes.Repeat(line, size/len(line)+1)[:size]
	enc := blob.NewEncoder()
	defer enc.Close()
	large, err1 := enc.EncodePlain(nil, data)
	small, err2 := enc.Encode(nil, data)
	if err := errors.Join(err1, err2); err != nil {
		panic(err)
	}
	return sample{digest.Of(data), data, large, small, encrypted(data)}
}

func random(seed byte, b []byte) { _, _ = rand.NewChaCha8([32]byte{seed}).Read(b) }

// encrypted makes what looks like an encrypted blob as long as data.
func encrypted(data []byte) []byte {
	magic, err := hex.DecodeString("7b6785be222d4cf0")
	if err != nil {
		panic(err)
	}
	payload := bytes.Clone(data)
	random(9, payload)
	b := append(magic, make([]byte, blob.EncryptedHeaderSize-len(magic))...)
	crc := crc32.ChecksumIEEE(payload)
	b[8], b[9], b[10], b[11] = byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24)
	return append(b, payload...)
}

// newRoot returns a directory with an empty .chunks in it, which makes its
// directories as they are needed. After the test nothing but chunks is in it.
func newRoot(t testing.TB) *os.File {
	t.Helper()
	path := t.TempDir()
	if err := os.Mkdir(filepath.Join(path, chunksName), 0o750); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { checkNames(t, path) })
	return openRoot(t, path)
}

func openRoot(t testing.TB, path string) *os.File {
	t.Helper()
	root, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func openStore(t testing.TB, root *os.File, disk *fsop.Disk) *Store {
	t.Helper()
	s, err := Open(root, Options{Disk: disk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newStore(t testing.TB) *Store {
	t.Helper()
	return openStore(t, newRoot(t), nil)
}

// checkNames fails for everything that is not named as a chunk or its directory,
// such as a temporary file that was left.
func checkNames(t testing.TB, path string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(path), ".chunks", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && name != ".chunks" && !isChunkPath(name) {
			t.Errorf("%q is left", name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func (s *Store) pathOf(d digest.Digest) string {
	return filepath.Join(s.chunks.Name(), nameOf(d).path())
}

// put writes a chunk's file directly, with times long ago.
func put(t testing.TB, s *Store, d digest.Digest, stored []byte) {
	t.Helper()
	path := s.pathOf(d)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, stored, 0o644); err != nil {
		t.Fatal(err)
	}
	makeOld(t, path)
}

func longAgo() time.Time { return time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC) }

func makeOld(t testing.TB, path string) {
	t.Helper()
	if err := os.Chtimes(path, longAgo(), longAgo()); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, s *Store, d digest.Digest) []byte {
	t.Helper()
	b, err := os.ReadFile(s.pathOf(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

// checkGood fails unless the chunk is there and decodes to the sample's data.
func checkGood(t testing.TB, s *Store, c sample) {
	t.Helper()
	l := s.NewLoader()
	defer l.Close()
	data, err := l.Load(c.digest, len(c.data))
	if err != nil {
		t.Error(err)
	} else if !bytes.Equal(data, c.data) {
		t.Errorf("chunk %s has other data", c.digest)
	}
}

// damagedForms are files that a crash, a disk or an attacker left in place of c.
func damagedForms(c sample) map[string][]byte {
	flipped := bytes.Clone(c.small)
	flipped[len(flipped)-1] ^= 1
	return map[string][]byte{
		"empty":                      {},
		"cut off":                    c.large[:5000],
		"cut off in the header":      c.small[:7],
		"zeros of the same size":     make([]byte, len(c.small)),
		"one bit flipped":            flipped,
		"the blob of another chunk":  newSample(77, sampleSize).small,
		"garbage behind the blob":    append(bytes.Clone(c.small), 1),
		"encrypted with a wrong CRC": append(bytes.Clone(c.encrypted), 1),
		"a blob header and no data":  c.large[:blob.HeaderSize],
		"no blob of any kind":        []byte("hello, this is no blob at all, but text"),
		"larger than any chunk":      nil, // made sparse by the test
	}
}

func isChunkPath(name string) bool {
	return regexp.MustCompile(`^\.chunks/([0-9a-f]{4})(/[0-9a-f]{64})?$`).MatchString(name)
}
