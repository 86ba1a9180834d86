package chunkstore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

func TestRecoverGivesAGoodFileItsNameBackAndNoOther(t *testing.T) {
	t.Parallel()
	x, other := newSample(1, sampleSize), newSample(2, sampleSize)
	for what, test := range map[string]struct {
		bad  map[string][]byte // by suffix
		want string
	}{
		"none":                   {nil, ""},
		"bad ones":               {map[string][]byte{".0.bad": other.small, ".1.bad": x.large[:100], ".2.bad": nil}, ""},
		"a good one behind them": {map[string][]byte{".0.bad": other.small, ".3.bad": x.small, ".9.bad": x.large}, ".3.bad"},
		"an encrypted one":       {map[string][]byte{".0.bad": x.encrypted}, ""},
		"names of nobody":        {map[string][]byte{".10.bad": x.small, ".bad": x.small, ".x.bad": x.small}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			root := openRoot(t, t.TempDir())
			file := putChunk(t, root, x, nil)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			for suffix, content := range test.bad {
				if err := os.WriteFile(file+suffix, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s := openStore(t, root, nil)
			loader := s.NewLoader()
			defer loader.Close()
			want := ""
			if test.want != "" {
				want = filepath.Base(file) + test.want
			}
			for _, rename := range []bool{false, true} {
				if name, err := s.Recover(x.digest, loader, rename); err != nil || name != want {
					t.Errorf("%q, %v", name, err)
				}
				if _, err := os.Stat(file); (err == nil) != (rename && want != "") {
					t.Errorf("rename %v: %v", rename, err)
				}
			}
			if want == "" {
				return
			}
			if _, err := loader.Load(x.digest, AnySize); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRecoverReplacesNoChunkThatAWriterMadeMeanwhile lets one come in before the rename.
func TestRecoverReplacesNoChunkThatAWriterMadeMeanwhile(t *testing.T) {
	t.Parallel()
	x := newSample(1, sampleSize)
	root := openRoot(t, t.TempDir())
	file := putChunk(t, root, x, x.large)
	if err := os.Rename(file, file+".0.bad"); err != nil {
		t.Fatal(err)
	}
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if c.Op == fsop.OpRename {
			return os.WriteFile(file, x.small, 0o644)
		}
		return nil
	}}
	s := openStore(t, root, disk)
	loader := s.NewLoader()
	defer loader.Close()
	if name, err := s.Recover(x.digest, loader, true); err != nil || name != filepath.Base(file)+".0.bad" {
		t.Errorf("%q, %v", name, err)
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != string(x.small) {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}
