package index_test

import (
	"iter"
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
