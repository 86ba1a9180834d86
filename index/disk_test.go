package index_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/pbs-like/pbs-like/index"
)

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
