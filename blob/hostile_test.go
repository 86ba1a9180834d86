package blob_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

// compressedBlob returns a blob around any payload, with the right CRC.
func compressedBlob(payload ...[]byte) []byte {
	raw := append([]byte{0x31, 0xb9, 0x58, 0x42, 0x6f, 0xb6, 0xa3, 0x7f, 0, 0, 0, 0}, bytes.Join(payload, nil)...)
	return withRightCRC(raw)
}

// frame compresses data into one zstd frame, as the original does: without the
// size of the content, unless sized.
func frame(tb testing.TB, data []byte, sized bool) []byte {
	tb.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		tb.Fatal(err)
	}
	if sized {
		return z.EncodeAll(data, nil)
	}
	if _, err := z.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// Frames by hand: magic, descriptor, window or content size, blocks.
var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	window512 = []byte{0x00, 0x48} // no content size, window of 512 KiB
)

// rle returns a block of n times one byte.
func rle(n int, last bool) []byte {
	head := uint32(n)<<3 | 1<<1
	if last {
		head |= 1
	}
	return append(binary.LittleEndian.AppendUint32(nil, head)[:3], 'x')
}

// sizedHeader says that the content has n bytes, whatever follows.
func sizedHeader(n uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, n)
}

func TestHostileZstdIsRefused(t *testing.T) {
	t.Parallel()
	dec := blob.NewDecoder()
	defer dec.Close()
	hello := frame(t, []byte("hello world hello world hello world"), true)
	for what, c := range map[string]struct {
		payload []byte
		want    error
	}{
		"nothing":                       {nil, blob.ErrCorrupt},
		"a magic alone":                 {zstdMagic, blob.ErrCorrupt},
		"no block":                      {slices.Concat(zstdMagic, window512), blob.ErrCorrupt},
		"no last block":                 {slices.Concat(zstdMagic, window512, rle(5, false)), blob.ErrCorrupt},
		"a reserved block":              {slices.Concat(zstdMagic, window512, []byte{7, 0, 0}), blob.ErrCorrupt},
		"a block of 2 MiB":              {slices.Concat(zstdMagic, window512, rle(1<<21-1, true)), blob.ErrCorrupt},
		"a block beyond the window":     {slices.Concat(zstdMagic, []byte{0, 0}, rle(2000, true)), blob.ErrCorrupt},
		"a window of 3.75 TiB":          {slices.Concat(zstdMagic, []byte{0, 0xff}, rle(5, true)), blob.ErrCorrupt},
		"a dictionary":                  {slices.Concat(zstdMagic, []byte{1, 0x48, 9}, rle(5, true)), blob.ErrCorrupt},
		"content of 2^64-1, 5 there":    {slices.Concat(sizedHeader(1<<64-1), rle(5, true)), blob.ErrCorrupt},
		"content of 2^63, 5 there":      {slices.Concat(sizedHeader(1<<63), rle(5, true)), blob.ErrCorrupt},
		"content of 1 MiB, 5 there":     {slices.Concat(sizedHeader(1<<20), rle(5, true)), blob.ErrCorrupt},
		"content of 4, 5 there":         {slices.Concat(sizedHeader(4), rle(5, true)), blob.ErrCorrupt},
		"one byte of garbage":           {append(slices.Clone(hello), 0), blob.ErrCorrupt},
		"three bytes of garbage":        {append(slices.Clone(hello), 0x28, 0xb5, 0x2f), blob.ErrCorrupt},
		"a magic as garbage":            {slices.Concat(hello, zstdMagic), blob.ErrCorrupt},
		"zeros as garbage":              {append(slices.Clone(hello), make([]byte, 100)...), blob.ErrCorrupt},
		"a skippable frame cut short":   {slices.Concat(hello, []byte{0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0, 1}), blob.ErrCorrupt},
		"a skippable frame of 4 GiB":    {[]byte{0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff}, blob.ErrCorrupt},
		"one byte too many":             {frame(t, make([]byte, 1<<20+1), false), blob.ErrTooLarge},
		"one byte too many, and said":   {frame(t, make([]byte, 1<<20+1), true), blob.ErrTooLarge},
		"too much in the second frame":  {slices.Concat(hello, frame(t, make([]byte, 1<<20), false)), blob.ErrTooLarge},
		"8 MiB":                         {frame(t, make([]byte, 8<<20), false), blob.ErrTooLarge},
		"many blocks that say too much": {slices.Concat(zstdMagic, window512, slices.Repeat(rle(128<<10, false), 5000)), blob.ErrCorrupt},
	} {
		got, err := dec.Decode([]byte("kept"), compressedBlob(c.payload), 1<<20)
		if !errors.Is(err, c.want) || string(got) != "kept" {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
}

func TestATruncatedOrLongerBlobNeverDecodes(t *testing.T) {
	t.Parallel()
	dec := blob.NewDecoder()
	defer dec.Close()
	whole := frame(t, goldenspec.Bytes(t, "text:1:300+zero:200000+text:2:300"), false)
	for n := range whole {
		if got, err := dec.Decode(nil, compressedBlob(whole[:n]), 1<<20); !errors.Is(err, blob.ErrCorrupt) {
			t.Fatalf("%d of %d bytes: %d bytes, %v", n, len(whole), len(got), err)
		}
	}
}

func TestSeveralFramesDecodeAsOne(t *testing.T) {
	t.Parallel()
	dec := blob.NewDecoder()
	defer dec.Close()
	parts := [][]byte{
		goldenspec.Bytes(t, "text:1:300000"), goldenspec.Bytes(t, "xs64:1:300000"),
		{},
		make([]byte, 300000),
		goldenspec.Bytes(t, "rep:1:512:1M"), []byte("end"),
	}
	skippable := []byte{0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}
	for _, sized := range []bool{true, false} {
		payload := slices.Clone(skippable)
		for _, p := range parts {
			payload = slices.Concat(payload, frame(t, p, sized), skippable)
		}
		want := bytes.Join(parts, nil)
		got, err := dec.Decode(nil, compressedBlob(payload), len(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("sized %v: %d of %d bytes, %v", sized, len(got), len(want), err)
		}
		if _, err := dec.Decode(nil, compressedBlob(payload), len(want)-1); !errors.Is(err, blob.ErrTooLarge) {
			t.Errorf("sized %v, one byte too many: %v", sized, err)
		}
	}
}

// A header may promise anything: memory is for what the limit allows and the
// blocks can hold.
func TestMemoryIsBoundedByLimitAndContent(t *testing.T) {
	for what, c := range map[string]struct {
		payload   []byte
		limit     int
		permitted uint64
	}{
		"8 MiB within 1 MiB":             {frame(t, make([]byte, 8<<20), false), 1 << 20, 3 << 20},
		"5 bytes that say 128 MiB":       {slices.Concat(sizedHeader(128<<20), rle(5, true)), blob.MaxSize, 1 << 20},
		"5 bytes that say 2^63":          {slices.Concat(sizedHeader(1<<63), rle(5, true)), blob.MaxSize, 1 << 20},
		"a small frame, a large limit":   {frame(t, []byte("hello world hello world"), false), blob.MaxSize, 1 << 20},
		"4 MiB, a large limit":           {frame(t, make([]byte, 4<<20), false), blob.MaxSize, 10 << 20},
		"a window of 128 MiB, 5 bytes":   {slices.Concat(zstdMagic, []byte{0, 17 << 3}, rle(5, true)), blob.MaxSize, 1 << 20},
		"2 MiB of blocks without an end": {slices.Concat(zstdMagic, window512, slices.Repeat(rle(128<<10, false), 1<<19)), blob.MaxSize, 1 << 20},
	} {
		stored := compressedBlob(c.payload)
		dec := blob.NewDecoder()
		allocated := allocatedBy(func() { _, _ = dec.Decode(nil, stored, c.limit) })
		if allocated > c.permitted {
			t.Errorf("%s: %d bytes of memory", what, allocated)
		}
	}
}

// allocatedBy returns how many bytes f takes from the heap. No other test may run.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLimitsAreExact(t *testing.T) {
	t.Parallel()
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	random := goldenspec.Bytes(t, "xs64:1:5M")
	for _, n := range []int{0, 1, 17, 18, 100, 128<<10 - 1, 128 << 10, 128<<10 + 1, 4<<20 + 1} {
		for _, data := range [][]byte{make([]byte, n), random[:n]} {
			stored, err := enc.Encode(nil, data)
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int{n, n + 1, n + 1<<20, blob.MaxSize, blob.MaxSize * 4} {
				if got, err := dec.Decode(nil, stored, limit); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes with limit %d: %d bytes, %v", n, limit, len(got), err)
				}
			}
			for _, limit := range []int{n - 1, n / 2, 0, -1, -1000} {
				if limit >= n || n == 0 && limit < 0 {
					continue
				}
				if got, err := dec.Decode(nil, stored, limit); !errors.Is(err, blob.ErrTooLarge) || got != nil {
					t.Errorf("%d bytes with limit %d: %d bytes, %v", n, limit, len(got), err)
				}
			}
		}
	}
}
