package index_test

import (
	"bytes"
	"testing"

	"github.com/pbs-like/pbs-like/index"
)

func FuzzReadersNeverPanicAndWritersGiveTheSameBack(f *testing.F) {
	for name := range readGolden(f) {
		f.Add(goldenFile(f, "store", name), kindOf(name) == index.Dynamic)
	}
	small, sound := fixed(f, 2), dynamic(f, 2)
	f.Add(with(small, chunkSizeAt, 0), false)
	f.Add(with(small, sizeAt, 1<<63), false)
	f.Add(small, true)
	f.Add(with(sound, index.HeaderSize, 0), true)
	f.Add(sound[:len(sound)-1], true)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, raw []byte, isDynamic bool) {
		kind := index.Fixed
		if isDynamic {
			kind = index.Dynamic
		}
		for range index.Digests(t.Context(), bytes.NewReader(raw), int64(len(raw)), kind) {
		}
		x, err := open(raw, kind)
		if err != nil {
			return
		}
		for i := range min(x.Count(), 100) {
			_, _ = x.Chunk(i)
		}
		for k := range uint64(5) {
			checkFound(t, x, x.Size()/5*k)
		}
		if _, err := countChunks(t.Context(), x); err != nil {
			return
		}
		// A sound index is written the same, but for the checksum and the zeros.
		again, sum := rewrite(t, x)
		if computed, err := x.ComputeChecksum(t.Context()); err != nil || computed != sum {
			t.Errorf("checksum %v, %v, the writer says %v", computed, err, sum)
		}
		if !bytes.Equal(again[:32], raw[:32]) || !bytes.Equal(again[index.HeaderSize:], raw[index.HeaderSize:]) {
			t.Error("the index that is written differs from the one that was read")
		}
	})
}

func checkFound(t *testing.T, x *index.Reader, offset uint64) {
	t.Helper()
	i, err := x.ChunkAt(offset)
	if err != nil {
		return
	}
	if c, err := x.Chunk(i); err != nil || offset < c.Start || offset >= c.End {
		t.Errorf("offset %d is in chunk %d: %v, %v", offset, i, c, err)
	}
}
