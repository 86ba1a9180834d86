package index_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

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

// failing reads well up to a byte, and then fails.
type failing struct {
	io.ReaderAt
	from int64
	err  error
}

func (f failing) ReadAt(b []byte, off int64) (int, error) {
	if n := f.from - off; n < int64(len(b)) {
		got, _ := f.ReaderAt.ReadAt(b[:max(n, 0)], off)
		return got, f.err
	}
	return f.ReaderAt.ReadAt(b, off)
}

func TestAnErrorOfTheDiskIsHandedOnAndIsNotDamage(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad sector")
	raw := fixed(t, 5000)
	x, err := index.Open(failing{bytes.NewReader(raw), index.HeaderSize + 4000*32, bad}, int64(len(raw)), index.Fixed)
	must(t, err)
	if _, err := x.Chunk(0); err != nil {
		t.Errorf("chunk 0: %v", err)
	}
	_, chunkErr := x.Chunk(4500)
	_, sumErr := x.ComputeChecksum(t.Context())
	n, walkErr := countChunks(t.Context(), x)
	for what, err := range map[string]error{"chunk 4500": chunkErr, "checksum": sumErr, "walk": walkErr} {
		if !errors.Is(err, bad) || errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n == 0 || n > 4000 {
		t.Errorf("the walk ends after %d chunks", n)
	}
	_, err = index.Open(failing{bytes.NewReader(raw), 10, bad}, int64(len(raw)), index.Fixed)
	if !errors.Is(err, bad) {
		t.Errorf("open: %v", err)
	}
	d := dynamic(t, 100)
	_, err = index.Open(failing{bytes.NewReader(d), index.HeaderSize, bad}, int64(len(d)), index.Dynamic)
	if !errors.Is(err, bad) {
		t.Errorf("open: %v", err)
	}
}

func TestAFileThatBecomesShorterIsCorrupt(t *testing.T) {
	t.Parallel()
	raw := fixed(t, 100)
	x, err := index.Open(bytes.NewReader(raw[:len(raw)-1]), int64(len(raw)), index.Fixed)
	must(t, err)
	if _, err := x.Chunk(99); !errors.Is(err, index.ErrCorrupt) {
		t.Errorf("chunk: %v", err)
	}
	if _, err := x.ComputeChecksum(t.Context()); !errors.Is(err, index.ErrCorrupt) {
		t.Errorf("checksum: %v", err)
	}
}

func TestWalksStopWithTheirContext(t *testing.T) {
	t.Parallel()
	x, err := open(fixed(t, 5000), index.Fixed)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err = range x.Digests(ctx) {
		n++
		cancel()
	}
	if !errors.Is(err, context.Canceled) || n >= 5000 {
		t.Errorf("%d digests, %v", n, err)
	}
	if _, err := x.ComputeChecksum(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("checksum: %v", err)
	}
}

func TestAWalkCanBeLeftEarlyAndBegunAgain(t *testing.T) {
	t.Parallel()
	x, err := open(dynamic(t, 3000), index.Dynamic)
	must(t, err)
	seq := x.Chunks(t.Context())
	for range 2 {
		n := 0
		for c, err := range seq {
			if err != nil || c.Digest != numbered(n) {
				t.Fatalf("chunk %d is %v, %v", n, c, err)
			}
			if n++; n == 2500 {
				break
			}
		}
	}
	for range x.Digests(t.Context()) {
		break
	}
}

func TestAReaderServesManyGoroutines(t *testing.T) {
	t.Parallel()
	const n = 20000
	for _, raw := range [][]byte{fixed(t, n), dynamic(t, n)} {
		x, err := open(raw, kindOfBytes(raw))
		must(t, err)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for k := range 3000 {
					i := (k*7919 + g*4999) % n
					c, err := x.Chunk(i)
					if err != nil || c.Digest != numbered(i) {
						t.Errorf("chunk %d is %v, %v", i, c, err)
						return
					}
					if at, err := x.ChunkAt(c.End - 1); err != nil || at != i {
						t.Errorf("offset %d is in chunk %d, %v", c.End-1, at, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// sparse is the index of a 64 TiB image, all zeros but the header.
type sparse struct{ header []byte }

func (s sparse) ReadAt(b []byte, off int64) (int, error) {
	clear(b)
	if off < int64(len(s.header)) {
		copy(b, s.header[off:])
	}
	return len(b), nil
}

func TestTheIndexOfAHugeImageTakesLittleMemory(t *testing.T) {
	const chunk, size = 4 << 20, 64 << 40
	header := with(with(fixed(t, 0), chunkSizeAt, chunk), sizeAt, size)
	fileSize := int64(index.HeaderSize + size/chunk*32)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	x, err := index.Open(sparse{header}, fileSize, index.Fixed)
	must(t, err)
	for i := range 100 {
		_, err := x.Chunk(x.Count() - 1 - i*100_000)
		must(t, err)
	}
	runtime.ReadMemStats(&after)
	total := after.TotalAlloc - before.TotalAlloc
	if total > 4<<20 {
		t.Errorf("%d bytes for 100 look-ups in an index of %d bytes", total, fileSize)
	}
}

func TestMessagesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := open(with(fixed(t, 1), chunkSizeAt, 3), index.Fixed)
	if err == nil || !strings.Contains(err.Error(), "chunk size 3 is not a power of two") {
		t.Errorf("got %v", err)
	}
}

// eager says io.EOF together with the last bytes, which an io.ReaderAt may.
type eager struct{ *bytes.Reader }

func (e eager) ReadAt(b []byte, off int64) (int, error) {
	n, err := e.Reader.ReadAt(b, off)
	if off+int64(n) == e.Size() {
		err = io.EOF
	}
	return n, err
}

func TestTheEndOfTheFileTogetherWithItsLastBytesIsFine(t *testing.T) {
	t.Parallel()
	raw := dynamic(t, 3)
	x, err := index.Open(eager{bytes.NewReader(raw)}, int64(len(raw)), index.Dynamic)
	must(t, err)
	if len(chunksOf(t, x)) != 3 {
		t.Error("not all chunks are there")
	}
	_, err = x.Chunk(2)
	must(t, err)
}
