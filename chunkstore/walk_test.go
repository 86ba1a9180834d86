package chunkstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestNamesInAChunkDirectory(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("ab", 32)
	for name, want := range map[string]FileKind{
		hex:                             ChunkFile,
		hex + ".0.bad":                  BadFile,
		hex + ".9.bad":                  BadFile,
		hex + ".10.bad":                 OtherFile,
		hex + ".x.bad":                  OtherFile,
		hex + ".bad":                    OtherFile,
		hex + "0.bad.":                  OtherFile,
		hex + ".tmp_a1B2c3":             TempFile,
		hex + ".tmp_a1B2c":              OtherFile,
		hex + ".using":                  UsingMarker,
		hex + "x":                       OtherFile,
		hex[:63]:                        OtherFile,
		strings.ToUpper(hex):            OtherFile,
		strings.Repeat("cd", 32):        OtherFile, // in the wrong directory
		"":                              OtherFile,
		strings.Repeat("ab", 31) + "..": OtherFile,
	} {
		if got := parseFile(0xabab, name); got.Kind != want || got.Name != name {
			t.Errorf("%q is %v, not %v", name, got.Kind, want)
		}
	}
}

func TestNumbersOfDirectories(t *testing.T) {
	t.Parallel()
	for _, number := range []int{0, 1, 0xabcd, 0xffff} {
		if got, ok := prefixNumber(prefixName(number)); !ok || got != number {
			t.Errorf("%x: %x, %v", number, got, ok)
		}
	}
	for _, name := range []string{"", "abc", "ABCD", "abcg", "abcde", "....", "tmp_"} {
		if _, ok := prefixNumber(name); ok {
			t.Errorf("%q is no chunk directory", name)
		}
	}
}

func TestWalkVisitsEachDirectoryOnceInOrder(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	s := openStore(t, root, nil)
	for seed := range byte(20) {
		x := newSample(seed, 100)
		if _, err := s.Insert(t.Context(), x.digest, x.small); err != nil {
			t.Fatal(err)
		}
	}
	last, chunks := -1, 0
	err := s.Walk(t.Context(), nil, func(d *Directory) error {
		if d.Number <= last {
			t.Errorf("%04x after %04x", d.Number, last)
		}
		last = d.Number
		for _, f := range d.Files {
			info, err := d.Stat(f)
			if f.Kind != ChunkFile || err != nil || !info.Regular || info.Size == 0 || info.Newest.Before(time.Now().Add(-time.Hour)) {
				t.Errorf("%+v: %+v, %v", f, info, err)
			}
			chunks++
		}
		return nil
	})
	if err != nil || chunks != 20 {
		t.Errorf("%d chunks, %v", chunks, err)
	}
	visited := 0
	err = s.Walk(t.Context(), func(number int) bool { return number == last }, func(d *Directory) error {
		visited++
		if err := d.Remove(d.Files[0]); err != nil {
			t.Error(err)
		}
		if _, err := d.Stat(d.Files[0]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after it was removed: %v", err)
		}
		return nil
	})
	if err != nil || visited != 1 {
		t.Errorf("%d directories, %v", visited, err)
	}
}

func TestWalkEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	for _, name := range []string{"0000", "0001"} {
		if err := os.Mkdir(filepath.Join(root.Name(), chunksName, name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	s := openStore(t, root, nil)
	visits := 0
	err := s.Walk(t.Context(), nil, func(*Directory) error { visits++; return fs.ErrInvalid })
	if !errors.Is(err, fs.ErrInvalid) || visits != 1 {
		t.Errorf("%d visits, %v", visits, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Walk(ctx, nil, func(*Directory) error { t.Error("visited"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestWalkFollowsNoLinkInThePlaceOfADirectory(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(path, chunksName), 0o750), os.Symlink("/", filepath.Join(path, chunksName, "abcd"))); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, openRoot(t, path), nil)
	if err := s.Walk(t.Context(), nil, func(*Directory) error { return nil }); !errors.Is(err, ErrForeign) {
		t.Errorf("%v", err)
	}
}

func TestSeveralWorkersVisitEachDirectoryOnce(t *testing.T) {
	t.Parallel()
	s := openStore(t, newRoot(t), nil)
	var numbers []int
	for seed := range byte(200) {
		x := newSample(seed, 100)
		if _, err := s.Insert(t.Context(), x.digest, x.small); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, int(x.digest[0])<<8|int(x.digest[1]))
	}
	for _, workers := range []int{0, 1, 3, 1000} {
		var visits [1 << 16]atomic.Int32
		var busy sync.Map
		err := s.WalkParallel(t.Context(), workers, nil, func(worker int, d *Directory) error {
			if _, other := busy.LoadOrStore(worker, true); other || worker >= max(1, workers) {
				t.Error("two at a time for worker", worker)
			}
			visits[d.Number].Add(1)
			busy.Delete(worker)
			return nil
		})
		for number := range visits {
			want := int32(0)
			if slices.Contains(numbers, number) {
				want = 1
			}
			if n := visits[number].Load(); n != want || err != nil {
				t.Fatalf("%04x: %d visits, %v", number, n, err)
			}
		}
	}
	var after atomic.Int32
	err := s.WalkParallel(t.Context(), 4, nil, func(int, *Directory) error {
		after.Add(1)
		return fs.ErrInvalid
	})
	if !errors.Is(err, fs.ErrInvalid) || after.Load() > 4 {
		t.Errorf("%v after %d visits", err, after.Load())
	}
}
