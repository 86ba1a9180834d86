package extractor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/pxar"
)

// TestARestoredTreeGivesTheSameArchive restores what the original wrote and makes an archive of it: the bytes are the same.
func TestARestoredTreeGivesTheSameArchive(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for name := range strings.FieldsSeq("empty types names meta dirs big hardlinks flags") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := goldenfile.Read(t, "pxar", "v1/"+name+".pxar.zst")
			target := disk(t)
			stats := whole(t, openArchive(t, data, nil), target, Options{})
			if name == "flags" { // one of them is not restored
				data = withoutNoDump(t, data)
			}
			if got := archived(t, target); !bytes.Equal(got, data) {
				t.Errorf("another archive: %d bytes, not %d (%+v)", len(got), len(data), stats)
			}
		})
	}
}

// withoutNoDump takes the flag out of all entries.
func withoutNoDump(t *testing.T, data []byte) []byte {
	t.Helper()
	return bytes.ReplaceAll(data, []byte{0, 0, 0x10, 0, 0, 0, 0, 0}, make([]byte, 8))
}

// TestEveryGoldenArchiveIsRestored compares each entry with what is there.
func TestEveryGoldenArchiveIsRestored(t *testing.T) {
	t.Parallel()
	needRoot(t)
	archives := map[string][2]string{
		"split types": {"split/other/types.mpxar.zst", "split/other/types.ppxar.zst"},
		"exclude":     {"v1/exclude.pxar.zst"}, "old exclude": {"v1/exclude-324.pxar.zst"},
	}
	for s := range strings.FieldsSeq("s1 s2 s3 s4") {
		archives["chain "+s] = [2]string{"split/chain-a/" + s + "/root.mpxar", "split/chain-a/" + s + "/root.ppxar.zst"}
	}
	for name, files := range archives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive := goldenfile.Read(t, "pxar", files[0])
			var payload []byte
			if files[1] != "" {
				payload = goldenfile.Read(t, "pxar", files[1])
			}
			target := disk(t)
			a := openArchive(t, archive, payload)
			whole(t, a, target, Options{})
			compare(t, a, target)
		})
	}
}

// compare looks at each entry of an archive in the file system.
func compare(t *testing.T, a *pxar.Archive, target string) {
	t.Helper()
	root, err := a.Root()
	if err != nil {
		t.Fatal(err)
	}
	walk, err := a.Walk(root)
	if err != nil {
		t.Fatal(err)
	}
	b := backup{t: t}
	for {
		e, err := walk.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == pxar.Hardlink {
			sameFile(t, target+e.Path, target+"/"+e.Target)
			continue
		}
		has := b.metadata(target + e.Path)
		if !filemeta.Equal(&has, &e.Metadata, filemeta.ApplyOptions{IgnoreMode: e.Kind == pxar.Symlink}) || has.Mode != e.Mode {
			t.Errorf("%s:\n%+v\n%+v", e.Path, has, e.Metadata)
		}
		if e.Kind == pxar.File {
			want, err := io.ReadAll(walk)
			if err != nil || readFile(t, target+e.Path) != string(want) {
				t.Errorf("%s: another content (%v)", e.Path, err)
			}
		}
	}
}

func sameFile(t *testing.T, a, b string) {
	t.Helper()
	first, err := os.Lstat(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.Lstat(b)
	if err != nil || !os.SameFile(first, second) {
		t.Errorf("%s and %s are not the same file (%v)", a, b, err)
	}
}

// TestOddValuesAreRestoredOrNamed has the archive with what no tree has.
func TestOddValuesAreRestoredOrNamed(t *testing.T) {
	t.Parallel()
	needRoot(t)
	target := disk(t)
	_, r := extract(t, openArchive(t, goldenfile.Read(t, "pxar", "v1/crafted.pxar.zst"), nil), target, Options{})
	t.Log(r)
	text := r.String()
	for _, want := range []string{"it has a NUL", "file name too long", "twice"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing is said of %q:\n%s", want, text)
		}
	}
}

// TestEveryMalformedArchiveStaysInside restores what was made to be wrong, in the two ways in which the original lets it out.
func TestEveryMalformedArchiveStaysInside(t *testing.T) {
	t.Parallel()
	files := goldenfile.MalformedTrees(t)
	ways := map[string]Options{
		"plain": {}, "over": {
			Overwrite: Overwrite{true, true, true, true}, AllowExistingDirs: true,
		}, "again": {Continue: true},
	}
	for name, data := range files {
		if strings.HasSuffix(name, ".ppxar") {
			continue
		}
		var payload []byte
		if base, ok := strings.CutSuffix(name, ".mpxar"); ok {
			payload = files[base+".ppxar"]
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := tryOpen(data, payload)
			if err != nil {
				return // refused
			}
			for way, opts := range ways {
				base, before := outside(t)
				r := &report{}
				opts.Events, opts.NoSync = r.events(), true
				for range 2 {
					stats, err := Extract(t.Context(), a, base+"/target", opts)
					t.Logf("%s: %d restored, %v\n%s", way, stats.Restored(), err, r)
				}
				if after := state(t, base+"/outside"); after != before {
					t.Errorf("%s: something outside changed:\n%s\n%s", way, before, after)
				}
			}
		})
	}
}

// outside makes a directory with a target and, beside it, what must not change.
func outside(t testing.TB) (base, before string) {
	t.Helper()
	base = t.TempDir()
	for _, dir := range []string{"outside", "target", "outside/dir"} {
		if err := os.Mkdir(base+"/"+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"victim", "dir/file"} {
		if err := os.WriteFile(base+"/outside/"+file, []byte("untouched"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = unix.Chmod(base+"/target", 0o700) })
	return base, state(t, base+"/outside")
}
