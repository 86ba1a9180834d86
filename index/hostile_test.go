package index_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/index"
)

func TestHostileHeadersAreCorrupt(t *testing.T) {
	t.Parallel()
	f, d := fixed(t, 3), dynamic(t, 3)
	for what, c := range map[string]struct {
		raw  []byte
		kind index.Kind
	}{
		"empty":                          {nil, index.Fixed},
		"shorter than a header":          {f[:4095], index.Fixed},
		"dynamic, shorter than a header": {d[:4095], index.Dynamic},
		"unknown magic":                  {with(f, 0, 0), index.Fixed},
		"no such kind":                   {f, index.Kind(7)},
		"chunk size 0":                   {with(f, chunkSizeAt, 0), index.Fixed},
		"chunk size 3":                   {with(f, chunkSizeAt, 3), index.Fixed},
		"chunk size 4097":                {with(f, chunkSizeAt, 4097), index.Fixed},
		"chunk size 256 MiB":             {with(f, chunkSizeAt, 256<<20), index.Fixed},
		"chunk size 2^63":                {with(f, chunkSizeAt, 1<<63), index.Fixed},
		"chunk size 2^64-1":              {with(f, chunkSizeAt, math.MaxUint64), index.Fixed},
		"image of 2^63":                  {with(f, sizeAt, 1<<63), index.Fixed},
		"image of 2^63-1":                {with(f, sizeAt, math.MaxInt64), index.Fixed},
		"image of 2^64-1":                {with(f, sizeAt, math.MaxUint64), index.Fixed},
		"image of 0":                     {with(f, sizeAt, 0), index.Fixed},
		"image of one chunk less":        {with(f, sizeAt, 2*4096), index.Fixed},
		"image of one byte more":         {with(f, sizeAt, 3*4096+1), index.Fixed},
		"sizes that overflow to fit":     {with(with(f, chunkSizeAt, 1), sizeAt, 3+1<<59), index.Fixed},
		"one entry less":                 {f[:len(f)-32], index.Fixed},
		"one entry more":                 {append(slices.Clone(f), make([]byte, 32)...), index.Fixed},
		"half an entry":                  {f[:len(f)-16], index.Fixed},
		"one byte more":                  {append(slices.Clone(f), 0), index.Fixed},
		"dynamic, half an entry":         {d[:len(d)-20], index.Dynamic},
		"dynamic, one byte more":         {append(slices.Clone(d), 0), index.Dynamic},
	} {
		x, err := open(c.raw, c.kind)
		if x != nil || !errors.Is(err, index.ErrCorrupt) || errors.Is(err, index.ErrWrongKind) {
			t.Errorf("%s: %v, %v", what, x, err)
		}
	}
}

func TestAnIndexOfTheOtherKindIsSaidToBeOne(t *testing.T) {
	t.Parallel()
	for kind, raw := range map[index.Kind][]byte{index.Dynamic: fixed(t, 5), index.Fixed: dynamic(t, 4)} {
		if _, err := open(raw, kind); !errors.Is(err, index.ErrWrongKind) || !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("opened as %v: %v", kind, err)
		}
		for _, err := range index.Digests(t.Context(), bytes.NewReader(raw), int64(len(raw)), kind) {
			if !errors.Is(err, index.ErrWrongKind) {
				t.Errorf("digests of %v: %v", kind, err)
			}
		}
	}
}

func TestOffsetsThatDoNotGrowAreCorruptWhereTheyAreUsed(t *testing.T) {
	t.Parallel()
	sound := dynamic(t, 4) // ends 1000 2001 3003 4006
	endAt := func(i int) int { return index.HeaderSize + 40*i }
	for what, c := range map[string]struct {
		raw   []byte
		chunk int // the first that is wrong
		at    uint64
	}{
		"the first is zero":          {with(sound, endAt(0), 0), 0, 0},
		"an empty chunk":             {with(sound, endAt(1), 1000), 1, 1500},
		"an end before its start":    {with(sound, endAt(1), 999), 1, 1500},
		"an end beyond the archive":  {with(sound, endAt(1), 1<<20), 1, 1500},
		"an end of 2^64-1":           {with(sound, endAt(1), math.MaxUint64), 1, 1500},
		"a last chunk of 128 MiB +1": {with(sound, endAt(3), 3003+index.MaxChunkSize+1), 3, 1 << 20},
		"a last end of 2^64-1":       {with(sound, endAt(3), math.MaxUint64), 3, 1 << 63},
	} {
		x, err := open(c.raw, index.Dynamic)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got, err := x.Chunk(c.chunk); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: chunk is %v, %v", what, got, err)
		}
		checkFound(t, x, c.at)
		if n, err := countChunks(t.Context(), x); n != c.chunk || !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: the walk ends after %d chunks with %v", what, n, err)
		}
		if got := digestsOf(t, x.Digests(t.Context())); len(got) != 4 || got[3] != numbered(3) {
			t.Errorf("%s: digests %v", what, got)
		}
	}
}

// countChunks returns how many chunks come before the first error.
func countChunks(ctx context.Context, x *index.Reader) (n int, err error) {
	for _, err := range x.Chunks(ctx) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func TestOffsetsThatGoDownNeverGiveAChunkWithoutTheByte(t *testing.T) {
	t.Parallel()
	raw := dynamic(t, 50)
	for i := range 49 { // all ends but the last in reverse order
		raw = with(raw, index.HeaderSize+40*i, uint64(50000-1000*i))
	}
	x, err := open(raw, index.Dynamic)
	must(t, err)
	for offset := uint64(0); offset < x.Size(); offset += 100 {
		i, err := x.ChunkAt(offset)
		if err != nil {
			continue
		}
		if c, err := x.Chunk(i); err != nil || offset < c.Start || offset >= c.End {
			t.Errorf("offset %d is in chunk %d: %v, %v", offset, i, c, err)
		}
	}
}

func TestChunksThatAreNotThereAreAnError(t *testing.T) {
	t.Parallel()
	for _, raw := range [][]byte{fixed(t, 3), dynamic(t, 3)} {
		x, err := open(raw, kindOfBytes(raw))
		must(t, err)
		for _, i := range []int{-1, 3, math.MaxInt, math.MinInt} {
			if c, err := x.Chunk(i); err == nil || errors.Is(err, index.ErrCorrupt) {
				t.Errorf("chunk %d is %v, %v", i, c, err)
			}
		}
		for _, offset := range []uint64{x.Size(), x.Size() + 1, math.MaxUint64} {
			if i, err := x.ChunkAt(offset); err == nil || errors.Is(err, index.ErrCorrupt) {
				t.Errorf("offset %d is in chunk %d, %v", offset, i, err)
			}
		}
	}
}

func kindOfBytes(raw []byte) index.Kind {
	if raw[0] == 0x1c {
		return index.Dynamic
	}
	return index.Fixed
}

// Whatever else is wrong, a chunk that an index names must survive a collection.
func TestDigestsNeedOnlyTheMagic(t *testing.T) {
	t.Parallel()
	f, d := fixed(t, 3000), dynamic(t, 3000)
	for what, raw := range map[string][]byte{
		"sound fixed":              f,
		"chunk size 0":             with(f, chunkSizeAt, 0),
		"image of 2^64-1":          with(f, sizeAt, math.MaxUint64),
		"fixed with half an entry": append(slices.Clone(f), make([]byte, 16)...),
		"sound dynamic":            d,
		"offset 0":                 with(d, index.HeaderSize, 0),
		"dynamic with half one":    append(slices.Clone(d), make([]byte, 39)...),
	} {
		got := digestsOf(t, index.Digests(t.Context(), bytes.NewReader(raw), int64(len(raw)), kindOfBytes(raw)))
		if len(got) != 3000 || got[0] != numbered(0) || got[2500] != numbered(2500) || got[2999] != numbered(2999) {
			t.Errorf("%s: %d digests", what, len(got))
		}
	}
}

func TestWithoutAHeaderDigestsIsOneError(t *testing.T) {
	t.Parallel()
	for _, raw := range [][]byte{nil, make([]byte, 4095), make([]byte, 5000)} {
		n := 0
		for d, err := range index.Digests(t.Context(), bytes.NewReader(raw), int64(len(raw)), index.Dynamic) {
			if n++; !d.IsZero() || !errors.Is(err, index.ErrCorrupt) {
				t.Errorf("%d bytes: %v, %v", len(raw), d, err)
			}
		}
		if n != 1 {
			t.Errorf("%d bytes: %d answers", len(raw), n)
		}
	}
}

func TestMessagesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := open(with(fixed(t, 1), chunkSizeAt, 3), index.Fixed)
	if err == nil || !strings.Contains(err.Error(), "chunk size 3 is not a power of two") {
		t.Errorf("got %v", err)
	}
}
