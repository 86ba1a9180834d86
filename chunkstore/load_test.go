package chunkstore

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func TestMissingChunksSaySo(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := newSample(sampleSeed, sampleSize)
	l := s.NewLoader()
	defer l.Close()
	_, err1 := s.Lookup(c.digest)
	_, err2 := s.Load(c.digest, nil)
	_, err3 := l.Load(c.digest, AnySize)
	for _, err := range []error{err1, err2, err3} {
		missing, ok := errors.AsType[*MissingChunkError](err)
		if !ok || missing.Digest != c.digest || !errors.Is(err, ErrMissing) || !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrCorrupt) {
			t.Errorf("error %v", err)
		}
	}
}

func TestLookupTellsTheStoredSize(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := newSample(sampleSeed, sampleSize)
	put(t, s, c.digest, c.small)
	info, err := s.Lookup(c.digest)
	if err != nil || info.Size != int64(len(c.small)) {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestDamagedChunksDoNotLoad(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	for name, stored := range damagedForms(c) {
		s := newStore(t)
		putDamaged(t, s, c, stored)
		l := s.NewLoader()
		data, err := l.Load(c.digest, AnySize)
		corrupt, ok := errors.AsType[*CorruptChunkError](err)
		if !ok || corrupt.Digest != c.digest || !errors.Is(err, ErrCorrupt) || data != nil {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		// The loader is none the worse for it.
		put(t, s, c.digest, c.small)
		if _, err := l.Load(c.digest, len(c.data)); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		l.Close()
	}
}

func TestAChunkOfAnotherSizeThanExpectedIsCorrupt(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := newSample(sampleSeed, sampleSize)
	l := s.NewLoader()
	defer l.Close()
	for _, stored := range [][]byte{c.small, c.large} {
		put(t, s, c.digest, stored)
		for _, want := range []int{0, 1, sampleSize - 1, sampleSize + 1, blob.MaxSize} {
			if _, err := l.Load(c.digest, want); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes expected: %v", want, err)
			}
		}
	}
}

func TestAnEncryptedChunkNeedsItsKey(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := newSample(sampleSeed, sampleSize)
	put(t, s, c.digest, c.encrypted)
	l := s.NewLoader()
	defer l.Close()
	if _, err := l.Load(c.digest, sampleSize); !errors.Is(err, blob.ErrNeedKey) || errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

func TestLoadingReusesItsMemory(t *testing.T) {
	s := newStore(t)
	c := newSample(sampleSeed, 1<<20)
	put(t, s, c.digest, c.large)
	l := s.NewLoader()
	defer l.Close()
	if _, err := l.Load(c.digest, AnySize); err != nil {
		t.Fatal(err)
	}
	result := testing.Benchmark(func(b *testing.B) {
		b.Helper()
		for b.Loop() {
			if _, err := l.Load(c.digest, len(c.data)); err != nil {
				b.Fatal(err)
			}
		}
	})
	if n := result.AllocedBytesPerOp(); n > 4<<10 {
		t.Errorf("%d bytes for each chunk", n)
	}
	buf := make([]byte, 0, 2<<20)
	stored, err := s.Load(c.digest, buf)
	if err != nil || &stored[0] != &buf[:1][0] {
		t.Errorf("Load did not use the buffer: %v", err)
	}
	if stored, err = s.Load(digest.Digest{}, stored); err == nil || cap(stored) != cap(buf) || len(stored) != 0 {
		t.Errorf("the buffer does not come back: %v", err)
	}
}

func TestTroubleWithReadingIsNoCorruption(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root becomes somebody else")
	}
	root := newRoot(t)
	s := openStore(t, root, nil)
	c := newSample(sampleSeed, sampleSize)
	put(t, s, c.digest, c.large)
	if err := os.Chmod(s.pathOf(c.digest), 0o600); err != nil {
		t.Fatal(err)
	}
	openTo(t, root.Name(), s.pathOf(c.digest))
	nobody := helperproc.Options{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	p := helperproc.StartWith(t, nobody, "load", root.Name())
	p.Expect("true false false")
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}
