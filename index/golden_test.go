package index_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

// golden is what the original reads from an index that it wrote.
type golden struct {
	Kind          string
	UUID          string
	Ctime         int64
	Csum          string
	HeaderCsum    string `json:"header-csum"`
	ChunkSize     uint64 `json:"chunk-size"`
	IndexBytes    uint64 `json:"index-bytes"`
	IndexCount    int    `json:"index-count"`
	IndexFileSize int64  `json:"index-file-size"`
	Chunks        []struct {
		Digest     string
		Start, End uint64
	}
	ChunkFromOffset []struct {
		Offset uint64
		Result *[2]uint64 // chunk, offset in it
	} `json:"chunk-from-offset"`
}

func readGolden(tb testing.TB) map[string]golden {
	tb.Helper()
	raw, err := os.ReadFile("testdata/store.indexes.json")
	if err != nil {
		tb.Fatal(err)
	}
	var all map[string]golden
	if err := json.Unmarshal(raw, &all); err != nil {
		tb.Fatal(err)
	}
	if len(all) != 19 {
		tb.Fatalf("%d indexes instead of 19", len(all))
	}
	return all
}

// goldenFile reads an index of a store. The colons of the snapshots' names are
// dots in testdata, because a Go module holds no file with a colon in its name.
func goldenFile(tb testing.TB, store, name string) []byte {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", store, strings.ReplaceAll(name, ":", ".")))
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func kindOf(name string) index.Kind {
	if filepath.Ext(name) == ".didx" {
		return index.Dynamic
	}
	return index.Fixed
}

func open(raw []byte, kind index.Kind) (*index.Reader, error) {
	return index.Open(bytes.NewReader(raw), int64(len(raw)), kind)
}

func TestIndexesOfTheOriginalAreReadAsByTheOriginal(t *testing.T) {
	t.Parallel()
	for name, want := range readGolden(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := open(goldenFile(t, "store", name), kindOf(name))
			if err != nil {
				t.Fatal(err)
			}
			uuid := x.UUID()
			if x.Kind() != kindOf(name) || x.Count() != want.IndexCount || x.Size() != want.IndexBytes ||
				x.ChunkSize() != want.ChunkSize || x.Created() != want.Ctime || hex.EncodeToString(uuid[:]) != want.UUID {
				t.Errorf("%v index, %d chunks of %d, %d bytes, created %d, uuid %x; want %+v",
					x.Kind(), x.Count(), x.ChunkSize(), x.Size(), x.Created(), uuid, want)
			}
			checkChecksum(t, x, want)
			checkChunks(t, x, want)
			checkChunkAt(t, x, want)
		})
	}
}

func checkChecksum(t *testing.T, x *index.Reader, want golden) {
	t.Helper()
	if got := x.Checksum().String(); got != want.HeaderCsum {
		t.Errorf("checksum in the header %s, want %s", got, want.HeaderCsum)
	}
	got, err := x.ComputeChecksum(t.Context())
	if err != nil || got.String() != want.Csum {
		t.Errorf("checksum of the entries %s, %v, want %s", got, err, want.Csum)
	}
}

func checkChunks(t *testing.T, x *index.Reader, want golden) {
	t.Helper()
	walk := chunksOf(t, x)
	names := digestsOf(t, x.Digests(t.Context()))
	if len(walk) != len(want.Chunks) || len(names) != len(want.Chunks) {
		t.Fatalf("%d chunks, %d digests, want %d", len(walk), len(names), len(want.Chunks))
	}
	for i, w := range want.Chunks {
		c, err := x.Chunk(i)
		if err != nil || c.Start != w.Start || c.End != w.End || c.Digest.String() != w.Digest || c.Size() != w.End-w.Start {
			t.Errorf("chunk %d is %v, %v; want %v", i, c, err, w)
		}
		if walk[i] != c || names[i] != c.Digest {
			t.Errorf("chunk %d: %v and %v on the walks, %v alone", i, walk[i], names[i], c)
		}
	}
}

func checkChunkAt(t *testing.T, x *index.Reader, want golden) {
	t.Helper()
	for _, w := range want.ChunkFromOffset {
		i, err := x.ChunkAt(w.Offset)
		if w.Result == nil {
			if err == nil || errors.Is(err, index.ErrCorrupt) {
				t.Errorf("offset %d is in chunk %d, %v; want an error about the offset", w.Offset, i, err)
			}
			continue
		}
		c, chunkErr := x.Chunk(i)
		if err != nil || chunkErr != nil || uint64(i) != w.Result[0] || w.Offset-c.Start != w.Result[1] {
			t.Errorf("offset %d is at %d of chunk %d, %v; want %v", w.Offset, w.Offset-c.Start, i, err, *w.Result)
		}
	}
}

func TestWritersGiveTheFilesOfTheOriginal(t *testing.T) {
	t.Parallel()
	for name, g := range readGolden(t) {
		raw := goldenFile(t, "store", name)
		x, err := open(raw, kindOf(name))
		if err != nil {
			t.Fatal(err)
		}
		if got, sum := rewrite(t, x); !bytes.Equal(got, raw) || sum.String() != g.Csum {
			t.Errorf("%s: %d bytes with checksum %s, want %d with %s", name, len(got), sum, len(raw), g.Csum)
		}
	}
}

// rewrite writes an index anew from what the reader says.
func rewrite(tb testing.TB, x *index.Reader) ([]byte, digest.Digest) {
	tb.Helper()
	var entries bytes.Buffer
	var header []byte
	var sum digest.Digest
	var err error
	if x.Kind() == index.Fixed {
		w, newErr := index.NewFixedWriter(&entries, x.ChunkSize())
		if newErr != nil {
			tb.Fatal(newErr)
		}
		for _, c := range chunksOf(tb, x) {
			must(tb, w.Add(c.Digest))
		}
		header, sum, err = w.Finish(x.Size(), x.UUID(), x.Created())
	} else {
		w := index.NewDynamicWriter(&entries)
		for _, c := range chunksOf(tb, x) {
			must(tb, w.Add(c.End, c.Digest))
		}
		header, sum, err = w.Finish(x.UUID(), x.Created())
	}
	must(tb, err)
	return append(header, entries.Bytes()...), sum
}

// What each of these files suffers from is told in the golden data's notes.
func TestDamagedIndexesOfTheOriginal(t *testing.T) {
	t.Parallel()

	t.Run("an index whose chunks are damaged is itself fine", func(t *testing.T) {
		for _, name := range []string{"vm/1/2024-01-01T00:00:00Z/a.img.fidx", "vm/1/2024-01-02T00:00:00Z/a.img.fidx", "vm/2/2024-01-01T00:00:00Z/a.img.fidx", "vm/7/2024-01-01T00:00:00Z/a.img.fidx", "vm/8/2024-01-01T00:00:00Z/a.img.fidx"} {
			x, err := open(goldenFile(t, "store-damaged", name), index.Fixed)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got, err := x.ComputeChecksum(t.Context()); err != nil || got != x.Checksum() {
				t.Errorf("%s: checksum %v, %v", name, got, err)
			}
		}
	})

	t.Run("a wrong end offset shows in size, checksum and chunk, not in the digests", func(t *testing.T) {
		raw := goldenFile(t, "store-damaged", "vm/3/2024-01-01T00:00:00Z/a.didx")
		x, err := open(raw, index.Dynamic)
		if err != nil {
			t.Fatal(err)
		}
		if x.Size() != 4295167296 {
			t.Errorf("size is %d, the original reads 4295167296", x.Size())
		}
		if got, err := x.ComputeChecksum(t.Context()); err != nil || got == x.Checksum() {
			t.Errorf("checksum %v is right, %v", got, err)
		}
		if c, err := x.Chunk(0); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("chunk %v, %v", c, err)
		}
		if i, err := x.ChunkAt(0); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("offset 0 is in chunk %d, %v", i, err)
		}
		if got := digestsOf(t, x.Digests(t.Context())); len(got) != 1 || got[0].IsZero() {
			t.Errorf("digests %v", got)
		}
	})

	t.Run("an index that is too short is refused, its whole entries are still found", func(t *testing.T) {
		raw := goldenFile(t, "store-damaged", "vm/4/2024-01-01T00:00:00Z/a.didx")
		if _, err := open(raw, index.Dynamic); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("opened, %v", err)
		}
		got := digestsOf(t, index.Digests(t.Context(), bytes.NewReader(raw), int64(len(raw)), index.Dynamic))
		if len(got) != 0 { // its only entry lost 8 bytes
			t.Errorf("digests %v", got)
		}
	})

	t.Run("a dynamic index of nothing but a header is empty", func(t *testing.T) {
		x, err := open(goldenFile(t, "store-damaged", "vm/9/2024-01-01T00:00:00Z/empty.didx"), index.Dynamic)
		if err != nil {
			t.Fatal(err)
		}
		if x.Count() != 0 || x.Size() != 0 || len(chunksOf(t, x)) != 0 || len(digestsOf(t, x.Digests(t.Context()))) != 0 {
			t.Errorf("%d chunks, %d bytes", x.Count(), x.Size())
		}
		if _, err := x.ChunkAt(0); err == nil {
			t.Error("it has a byte 0")
		}
		if got, err := x.ComputeChecksum(t.Context()); err != nil || got != x.Checksum() || got != digest.Of(nil) {
			t.Errorf("checksum %v, %v", got, err)
		}
	})
}
