package chunkstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

func putChunk(t *testing.T, root *os.File, x sample, content []byte) string {
	t.Helper()
	file := filepath.Join(root.Name(), chunksName, nameOf(x.digest).path())
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, content, 0o644)); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCondemnRenamesWhatIsDamagedAndNothingElse(t *testing.T) {
	t.Parallel()
	x, other := newSample(1, sampleSize), newSample(2, sampleSize)
	flipped := append([]byte{}, x.small...)
	flipped[len(flipped)/2] ^= 1
	for what, test := range map[string]struct {
		content []byte
		bad     bool
	}{
		"a good one":            {x.large, false},
		"a good compressed one": {x.small, false},
		"an encrypted one":      {x.encrypted, false},
		"one bit":               {flipped, true},
		"another chunk":         {other.small, true},
		"an empty file":         {nil, true},
		"a file cut short":      {x.large[:100], true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			root := openRoot(t, t.TempDir())
			file := putChunk(t, root, x, test.content)
			s := openStore(t, root, nil)
			loader := s.NewLoader()
			defer loader.Close()
			name, err := s.Condemn(x.digest, loader)
			if err != nil || (name != "") != test.bad {
				t.Errorf("%q, %v", name, err)
			}
			if _, err := os.Stat(file); (err != nil) != test.bad {
				t.Errorf("the chunk: %v", err)
			}
			if _, err := os.Stat(file + ".0.bad"); (err == nil) != test.bad {
				t.Errorf("the renamed one: %v", err)
			}
		})
	}
}

func TestCondemnTakesTheNextFreeNameAndStopsAtTheTenth(t *testing.T) {
	t.Parallel()
	x := newSample(1, sampleSize)
	root := openRoot(t, t.TempDir())
	s := openStoreWithChunk(t, root, x)
	loader := s.NewLoader()
	defer loader.Close()
	for n := range badSlots + 1 {
		file := putChunk(t, root, x, []byte("bad"))
		name, err := s.Condemn(x.digest, loader)
		want := filepath.Base(file) + "." + string(rune('0'+n)) + ".bad"
		if n == badSlots {
			want = ""
		}
		if err != nil || name != want {
			t.Errorf("%d: %q, %v", n, name, err)
		}
	}
	if name, err := s.Condemn(newSample(3, 10).digest, loader); name != "" || err != nil {
		t.Errorf("a missing one: %q, %v", name, err)
	}
}

func openStoreWithChunk(t *testing.T, root *os.File, x sample) *Store {
	t.Helper()
	putChunk(t, root, x, nil)
	return openStore(t, root, nil)
}

// TestAGoodChunkThatComesInBetweenIsPutBack lets a writer replace the damaged chunk right before it is renamed.
func TestAGoodChunkThatComesInBetweenIsPutBack(t *testing.T) {
	t.Parallel()
	for _, andAgain := range []bool{false, true} {
		x := newSample(1, sampleSize)
		root := openRoot(t, t.TempDir())
		file := putChunk(t, root, x, []byte("bad"))
		replace := func() {
			if err := errors.Join(os.WriteFile(file+".new", x.small, 0o644), os.Rename(file+".new", file)); err != nil {
				t.Error(err)
			}
		}
		disk := &fsop.Disk{
			Before: func(c fsop.Change) error {
				if c.Op == fsop.OpRename || c.Op == fsop.OpLink && andAgain {
					replace()
				}
				return nil
			},
		}
		s := openStore(t, root, disk)
		loader := s.NewLoader()
		defer loader.Close()
		if name, err := s.Condemn(x.digest, loader); name != "" || err != nil {
			t.Errorf("%q, %v", name, err)
		}
		if _, err := loader.Load(x.digest, AnySize); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file + ".0.bad"); err == nil {
			t.Error("the good one is still there as a bad one")
		}
	}
}
