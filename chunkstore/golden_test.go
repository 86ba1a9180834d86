package chunkstore

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
)

// goldenFiles returns the files below .chunks of a store that the original wrote.
func goldenFiles(t *testing.T, store string) map[string][]byte {
	t.Helper()
	f, err := os.Open("../testdata/golden/" + store + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg || !strings.Contains(header.Name, "/.chunks/") {
			continue
		}
		if files[path.Base(header.Name)], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func putAll(t *testing.T, s *Store, files map[string][]byte) []digest.Digest {
	t.Helper()
	var all []digest.Digest
	for name, stored := range files {
		d, err := digest.Parse(name)
		if err != nil {
			continue // *.bad
		}
		put(t, s, d, stored)
		all = append(all, d)
	}
	return all
}

func TestChunksOfTheOriginalLoad(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	l := s.NewLoader()
	defer l.Close()
	plain, encrypted := 0, 0
	for _, d := range putAll(t, s, goldenFiles(t, "store")) {
		_, loaded := l.Load(d, AnySize)
		switch err := loaded; {
		case err == nil:
			plain++
		case errors.Is(err, blob.ErrNeedKey):
			encrypted++
		default:
			t.Error(err)
		}
		if ok, err := s.ReuseVerified(d, l); ok != (loaded == nil) || err != nil {
			t.Errorf("%s: reused %v without a key, %v", d, ok, err)
		}
	}
	if plain == 0 || encrypted == 0 {
		t.Errorf("%d plain and %d encrypted chunks", plain, encrypted)
	}
}

// The original's verification renamed what it found damaged.
func TestExactlyTheChunksThatTheOriginalCalledBadAreDamaged(t *testing.T) {
	t.Parallel()
	bad := make(map[string]bool)
	for name := range goldenFiles(t, "store-damaged-verified") {
		if before, found := strings.CutSuffix(name, ".0.bad"); found {
			bad[before] = true
		}
	}
	s := newStore(t)
	l := s.NewLoader()
	defer l.Close()
	for _, d := range putAll(t, s, goldenFiles(t, "store-damaged")) {
		_, loaded := l.Load(d, AnySize)
		if errors.Is(loaded, ErrCorrupt) != bad[d.String()] {
			t.Errorf("the original says damaged: %v, load says %v", bad[d.String()], loaded)
		}
		if ok, err := s.ReuseVerified(d, l); ok != (loaded == nil) || err != nil {
			t.Errorf("ReuseVerified of %s: %v, %v", d, ok, err)
		}
		delete(bad, d.String())
	}
	if len(bad) > 0 {
		t.Errorf("not looked at: %v", bad)
	}
}
