package index_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

// The magics are not ours to choose: each is the beginning of the hash of a
// sentence.
func TestMagicsAreTheHashesOfTheirSentences(t *testing.T) {
	t.Parallel()
	for sentence, raw := range map[string][]byte{
		"Proxmox Backup fixed sized chunk index v1.0":   fixed(t, 0),
		"Proxmox Backup dynamic sized chunk index v1.0": dynamic(t, 0),
	} {
		want := digest.Of([]byte(sentence))
		if !bytes.Equal(raw[:8], want[:8]) {
			t.Errorf("%s: %x, want %x", sentence, raw[:8], want[:8])
		}
	}
}

func TestTheHeaderIsZeroBeyondItsFields(t *testing.T) {
	t.Parallel()
	for used, raw := range map[int][]byte{80: fixed(t, 3), 64: dynamic(t, 3)} {
		if !bytes.Equal(raw[used:4096], make([]byte, 4096-used)) {
			t.Errorf("not zero: %x", raw[used:4096])
		}
	}
}

func TestWhatIsWrittenReadsBackAcrossBuffersAndBlocks(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 511, 512, 513, 2047, 2048, 2049, 10000} {
		for _, raw := range [][]byte{fixed(t, n), dynamic(t, n)} {
			x, err := open(raw, kindOfBytes(raw))
			must(t, err)
			chunks := chunksOf(t, x)
			if x.Count() != n || len(chunks) != n {
				t.Fatalf("%d chunks, %d on the walk, want %d", x.Count(), len(chunks), n)
			}
			for i, c := range chunks {
				if one, err := x.Chunk(i); c.Digest != numbered(i) || one != c || err != nil {
					t.Fatalf("chunk %d of %d is %v, %v", i, n, c, err)
				}
			}
			if sum, err := x.ComputeChecksum(t.Context()); err != nil || sum != x.Checksum() {
				t.Errorf("checksum %v, %v, want %v", sum, err, x.Checksum())
			}
		}
	}
}

func TestFixedChunkSizesMustBePowersOfTwo(t *testing.T) {
	t.Parallel()
	for _, size := range []uint64{0, 3, 4095, 1 << 28, 1 << 63, math.MaxUint64} {
		if w, err := index.NewFixedWriter(&bytes.Buffer{}, size); err == nil || w != nil {
			t.Errorf("a writer for chunks of %d bytes", size)
		}
	}
}

func TestFinishRefusesASizeThatDoesNotFitTheChunks(t *testing.T) {
	t.Parallel()
	for size, ok := range map[uint64]bool{
		0: false, 4096: false, 4097: true, 8192: true, 8193: false, 1 << 63: false, math.MaxUint64: false,
	} {
		w, err := index.NewFixedWriter(&bytes.Buffer{}, 4096)
		must(t, err)
		must(t, w.Add(numbered(0)))
		must(t, w.Add(numbered(1)))
		header, _, err := w.Finish(size, [16]byte{}, 0)
		if (err == nil) != ok || (header != nil) != ok {
			t.Errorf("two chunks for %d bytes: %v", size, err)
		}
	}
}

func TestDynamicEndsMustGrow(t *testing.T) {
	t.Parallel()
	w := index.NewDynamicWriter(&bytes.Buffer{})
	for _, c := range []struct {
		end uint64
		ok  bool
	}{
		{0, false},
		{10, true},
		{10, false},
		{9, false},
		{11, true},
		{math.MaxUint64, false},
		{12 + index.MaxChunkSize, false},
		{11 + index.MaxChunkSize, true},
	} {
		before := w.Size()
		err := w.Add(c.end, numbered(0))
		if (err == nil) != c.ok || err != nil && w.Size() != before || err == nil && w.Size() != c.end {
			t.Errorf("end %d after %d: %v, now %d", c.end, before, err, w.Size())
		}
	}
	if _, _, err := w.Finish([16]byte{}, 0); err != nil {
		t.Errorf("refused ends have an effect: %v", err)
	}
}

// full is a disk with room for some bytes.
type full struct {
	room int
	err  error
}

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.room {
		return f.room, f.err
	}
	f.room -= len(b)
	return len(b), nil
}

func TestAnErrorOfTheDiskStaysUntilFinish(t *testing.T) {
	t.Parallel()
	noSpace := errors.New("no space")
	f, err := index.NewFixedWriter(&full{100_000, noSpace}, 4096)
	must(t, err)
	d := index.NewDynamicWriter(&full{100_000, noSpace})
	var fixedErr, dynamicErr error
	for i := range 10_000 {
		fixedErr = f.Add(numbered(i))
		dynamicErr = d.Add(uint64(i+1), numbered(i))
	}
	_, _, fixedFinish := f.Finish(10_000*4096, [16]byte{}, 0)
	_, _, dynamicFinish := d.Finish([16]byte{}, 0)
	for _, err := range []error{fixedErr, dynamicErr, fixedFinish, dynamicFinish} {
		if !errors.Is(err, noSpace) {
			t.Errorf("got %v", err)
		}
	}
}

func TestAnErrorOfTheLastWriteComesWithFinish(t *testing.T) {
	t.Parallel()
	noSpace := errors.New("no space")
	d := index.NewDynamicWriter(&full{10, noSpace})
	must(t, d.Add(1, numbered(0)))
	if header, _, err := d.Finish([16]byte{}, 0); !errors.Is(err, noSpace) || header != nil {
		t.Errorf("%d bytes of header, %v", len(header), err)
	}
}

func TestAfterFinishNothingIsAdded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := index.NewDynamicWriter(&out)
	must(t, d.Add(1, numbered(0)))
	_, _, err := d.Finish([16]byte{}, 0)
	must(t, err)
	addErr := d.Add(2, numbered(1))
	_, _, err = d.Finish([16]byte{}, 0)
	if addErr == nil || err == nil || out.Len() != 40 {
		t.Errorf("%v, %v, %d bytes", addErr, err, out.Len())
	}
}
