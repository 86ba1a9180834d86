package chunkstore

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

func TestInsertedChunksAreReadBack(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, size := range []int{0, 1, 4095, 4096, directMin - blob.HeaderSize, directMin, directMin + 1, 1<<20 - blob.HeaderSize, 4<<20 + 1} {
		data := make([]byte, size)
		random(byte(size), data)
		c := newSample(0, 0)
		c.digest, c.data = digest.Of(data), data
		for _, shift := range []int{0, 1, 512} {
			buf := make([]byte, size+1<<16)
			stored := append(buf[shift:shift], mustEncode(t, data)...)
			if err := os.RemoveAll(s.pathOf(c.digest)); err != nil {
				t.Fatal(err)
			}
			result, err := s.Insert(t.Context(), c.digest, stored)
			if err != nil {
				t.Fatal(err)
			}
			if want := (Result{Written: true, Size: int64(len(stored))}); result != want {
				t.Errorf("%d bytes: %+v, want %+v", size, result, want)
			}
			if !bytes.Equal(content(t, s, c.digest), stored) {
				t.Errorf("%d bytes, shifted by %d: the file differs", size, shift)
			}
			checkGood(t, s, c)
		}
	}
	if directPays(s.chunks) && !s.direct.Load() {
		t.Error("the disk refused a write past the page cache")
	}
}

func mustEncode(t testing.TB, data []byte) []byte {
	t.Helper()
	enc := blob.NewEncoder()
	defer enc.Close()
	stored, err := enc.EncodePlain(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestNewFilesHaveTheFormatsModesAndTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	s := openStore(t, newRoot(t), &fsop.Disk{Owner: &fsop.Owner{UID: 34, GID: 35}})
	c := newSample(sampleSeed, sampleSize)
	if _, err := s.Insert(t.Context(), c.digest, c.small); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{s.pathOf(c.digest): 0o644, filepath.Dir(s.pathOf(c.digest)): 0o750 | os.ModeDir} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		if info.Mode() != mode || st.Uid != 34 || st.Gid != 35 {
			t.Errorf("%s: mode %v owner %d:%d", path, info.Mode(), st.Uid, st.Gid)
		}
	}
}

func TestOfTwoFormsTheRightOneStays(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	otherEncrypted := encrypted(c.data[:9000])
	for _, test := range []struct {
		name         string
		there, comes []byte
		replaced     bool
	}{
		{"nothing there", nil, c.small, true},
		{"the same", c.small, c.small, false},
		{"a smaller one comes", c.large, c.small, true},
		{"a larger one comes", c.small, c.large, false},
		{"an encrypted one comes for a plain one", c.large, c.encrypted, false},
		{"a smaller encrypted one comes for a plain one", c.large, otherEncrypted, false},
		{"a plain one comes for an encrypted one", c.encrypted, c.large, true},
		{"a larger plain one comes for an encrypted one", otherEncrypted, c.large, true},
		{"a smaller encrypted one comes for an encrypted one", c.encrypted, otherEncrypted, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			if test.there != nil {
				put(t, s, c.digest, test.there)
			}
			result, err := s.Insert(t.Context(), c.digest, test.comes)
			if err != nil {
				t.Fatal(err)
			}
			want := test.there
			if test.replaced {
				want = test.comes
			}
			if result.Written != test.replaced || result.Size != int64(len(want)) {
				t.Errorf("result %+v, written is to be %v, size %d", result, test.replaced, len(want))
			}
			if !bytes.Equal(content(t, s, c.digest), want) {
				t.Error("the wrong one stays")
			}
			checkFresh(t, s, c.digest)
		})
	}
}

// checkFresh fails if the next collection would take the chunk.
func checkFresh(t *testing.T, s *Store, d digest.Digest) {
	t.Helper()
	info, err := os.Stat(s.pathOf(d))
	if err != nil {
		t.Fatal(err)
	}
	atime := time.Unix(info.Sys().(*syscall.Stat_t).Atim.Unix())
	if time.Since(atime) > time.Hour {
		t.Errorf("last access %v", atime)
	}
}

func TestDamagedChunksAreReplacedWhateverTheirSize(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	for name, there := range damagedForms(c) {
		for _, comes := range [][]byte{c.small, c.large} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newStore(t)
				putDamaged(t, s, c, there)
				result, err := s.Insert(t.Context(), c.digest, comes)
				if err != nil || !result.Written {
					t.Fatalf("%+v, %v", result, err)
				}
				checkGood(t, s, c)
			})
		}
	}
}

// putDamaged takes nil for a file that is too large to be made.
func putDamaged(t *testing.T, s *Store, c sample, there []byte) {
	t.Helper()
	put(t, s, c.digest, there)
	if there == nil {
		if err := os.Truncate(s.pathOf(c.digest), maxStored+1); err != nil {
			t.Fatal(err)
		}
	}
	makeOld(t, s.pathOf(c.digest))
}

func TestAGoodChunkDoesNotGiveWayToABadOne(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	for name, comes := range map[string][]byte{
		"of other data":    newSample(77, 100).small,
		"with a wrong CRC": append(bytes.Clone(c.small), 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			put(t, s, c.digest, c.large)
			if _, err := s.Insert(t.Context(), c.digest, comes); !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v", err)
			}
			checkGood(t, s, c)
		})
	}
}

// Between the look at what is there and the rename, somebody else is faster.
func TestTheRulesHoldAlsoForAChunkThatAppearsMeanwhile(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	root := newRoot(t)
	other := openStore(t, root, nil)
	once := true
	s := openStore(t, root, &fsop.Disk{Before: func(change fsop.Change) error {
		if change.Op == fsop.OpRename && once {
			once = false
			put(t, other, c.digest, c.large)
		}
		return nil
	}})
	result, err := s.Insert(t.Context(), c.digest, c.encrypted)
	if err != nil || result.Written || result.Size != int64(len(c.large)) {
		t.Errorf("%+v, %v", result, err)
	}
	checkGood(t, s, c)
	checkFresh(t, s, c.digest)
}

// Somebody removes what others write, which the lock is there to prevent.
func TestAChunkThatComesAndGoesIsAnErrorInTheEnd(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	s := openStore(t, newRoot(t), &fsop.Disk{Before: func(change fsop.Change) error {
		if change.Op == fsop.OpTouch {
			return unix.ENOENT
		}
		return nil
	}})
	put(t, s, c.digest, c.small)
	if _, err := s.Insert(t.Context(), c.digest, c.small); !errors.Is(err, errChanged) {
		t.Errorf("error %v", err)
	}
}

func TestWhatIsNoBlobIsNotInserted(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := newSample(sampleSeed, sampleSize)
	for _, stored := range [][]byte{nil, []byte("hello"), make([]byte, 100)} {
		if _, err := s.Insert(t.Context(), c.digest, stored); !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("error %v", err)
		}
	}
	if _, err := s.Lookup(c.digest); !errors.Is(err, ErrMissing) {
		t.Errorf("a chunk is there: %v", err)
	}
}

func TestInsertObeysItsContext(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := newSample(sampleSeed, sampleSize)
	if _, err := s.Insert(ctx, c.digest, c.small); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A file system that changes its mind about O_DIRECT says EINVAL.
func TestWritingFallsBackToThePageCache(t *testing.T) {
	t.Parallel()
	refuse := true
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if c.Op == fsop.OpWrite && refuse {
			refuse = false
			return unix.EINVAL
		}
		return nil
	}}
	s := openStore(t, newRoot(t), disk)
	s.direct.Store(true)
	data := make([]byte, 1<<20+5)
	random(1, data)
	stored := append(make([]byte, 0, 2<<20), mustEncode(t, data)...)
	if _, err := s.Insert(t.Context(), digest.Of(data), stored); err != nil {
		t.Fatal(err)
	}
	if refuse || s.direct.Load() {
		t.Error("writing past the page cache was not tried, or is tried again")
	}
	checkGood(t, s, sample{digest: digest.Of(data), data: data})
}

func TestLargeSlicesAreAligned(t *testing.T) {
	t.Parallel()
	for _, size := range []int{directMin, 1 << 20, 4<<20 + 12} {
		if b := make([]byte, 0, size); !aligned(b) {
			t.Errorf("a slice of %d bytes is at %p", size, unsafe.SliceData(b))
		}
	}
}

func TestAnInsertionMakesLittleGarbage(t *testing.T) {
	s := newStore(t)
	data := make([]byte, 1<<20)
	random(1, data)
	stored := append(make([]byte, 0, 2<<20), mustEncode(t, data)...)
	d := digest.Of(data)
	result := testing.Benchmark(func(b *testing.B) {
		b.Helper()
		b.ReportAllocs()
		for b.Loop() {
			if err := os.Remove(s.pathOf(d)); err != nil && !os.IsNotExist(err) {
				b.Fatal(err)
			}
			if _, err := s.Insert(b.Context(), d, stored); err != nil {
				b.Fatal(err)
			}
		}
	})
	if n := result.AllocedBytesPerOp(); n > 8<<10 {
		t.Errorf("%d bytes for each chunk", n)
	}
}
