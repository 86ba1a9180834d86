package index_test

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"testing"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

const (
	sizeAt      = 64
	chunkSizeAt = 72
)

// fixed returns a sound index of n chunks of 4 KiB.
func fixed(tb testing.TB, n int) []byte {
	tb.Helper()
	var entries bytes.Buffer
	w, err := index.NewFixedWriter(&entries, 4096)
	must(tb, err)
	for i := range n {
		must(tb, w.Add(numbered(i)))
	}
	header, _, err := w.Finish(uint64(n)*4096, [16]byte{1}, 2)
	must(tb, err)
	return append(header, entries.Bytes()...)
}

// dynamic returns a sound index of n chunks of 1000, 1001 ... bytes.
func dynamic(tb testing.TB, n int) []byte {
	tb.Helper()
	var entries bytes.Buffer
	w := index.NewDynamicWriter(&entries)
	for i := range n {
		must(tb, w.Add(w.Size()+uint64(1000+i), numbered(i)))
	}
	header, _, err := w.Finish([16]byte{1}, 2)
	must(tb, err)
	return append(header, entries.Bytes()...)
}

func numbered(i int) digest.Digest {
	return digest.Of(binary.LittleEndian.AppendUint64(nil, uint64(i)))
}

// with returns a copy of an index with the number at an offset replaced.
func with(raw []byte, at int, number uint64) []byte {
	raw = slices.Clone(raw)
	binary.LittleEndian.PutUint64(raw[at:], number)
	return raw
}

func chunksOf(tb testing.TB, x *index.Reader) []index.Chunk {
	tb.Helper()
	var all []index.Chunk
	for c, err := range x.Chunks(tb.Context()) {
		must(tb, err)
		all = append(all, c)
	}
	return all
}

func digestsOf(tb testing.TB, seq iter.Seq2[digest.Digest, error]) []digest.Digest {
	tb.Helper()
	var all []digest.Digest
	for d, err := range seq {
		must(tb, err)
		all = append(all, d)
	}
	return all
}
