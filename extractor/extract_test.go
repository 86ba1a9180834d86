package extractor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

func TestPatternsSelectWhatTheOriginalSelects(t *testing.T) {
	t.Parallel()
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		put(t, w, pxar.Directory, "a", "")
		first := put(t, w, pxar.File, "first", "content")
		link(t, w, "second", "a/first", first)
		leave(t, w)
		put(t, w, pxar.Directory, "b", "")
		put(t, w, pxar.Directory, "c", "")
		link(t, w, "third", "a/first", first)
		leave(t, w)
		put(t, w, pxar.File, "m-big", "m")
		leave(t, w)
		put(t, w, pxar.Directory, "e", "")
		leave(t, w)
	})
	tests := map[string]string{
		"":               "a a/first a/second b b/c b/c/third b/m-big e",
		"/a/first":       "a a/first",
		"first":          "a a/first",
		"a/":             "a a/first a/second",
		"/b":             "b b/c b/c/third b/m-big",
		"/b/c":           "b b/c b/c/third",
		"b/*":            "b b/c b/c/third b/m-big",
		"third":          "b b/c b/c/third",
		"/e":             "e",
		"**":             "a a/first a/second b b/c b/c/third b/m-big e",
		"/b !c/":         "b b/m-big",
		"/b !c/ third":   "b b/c b/c/third b/m-big",
		"/b !*":          "",
		"m-big /a/*cond": "a a/second b b/m-big",
	}
	for text, want := range tests {
		target := filepath.Join(t.TempDir(), "target")
		stats := whole(t, openArchive(t, data, nil), target, Options{Patterns: patterns(t, strings.Fields(text)...)})
		if got := names(t, target); got != want {
			t.Errorf("%q: %q, not %q (%+v)", text, got, want, stats)
		}
		if strings.Contains(want, "third") && readFile(t, target, "b/c/third") != "content" {
			t.Errorf("%q: a link without its content", text)
		}
	}
}

// TestLinksToWhatIsNotWantedAreOneFile has two links to a file that is not selected.
func TestLinksToWhatIsNotWantedAreOneFile(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	a := openArchive(t, built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		first := put(t, w, pxar.File, "a", "content")
		put(t, w, pxar.Directory, "b", "")
		for _, name := range []string{"1", "2", "3"} {
			link(t, w, name, "a", first)
		}
		leave(t, w)
	}), nil)
	stats := whole(t, a, target, Options{Patterns: patterns(t, "/b")})
	if stats.LinksCopied != 1 || stats.Hardlinks != 2 || names(t, target) != "b b/1 b/2 b/3" {
		t.Errorf("%+v", stats)
	}
	sameFile(t, target+"/b/1", target+"/b/3")
}

// TestASmallPartIsReadOfALargeArchive counts what is read.
func TestASmallPartIsReadOfALargeArchive(t *testing.T) {
	t.Parallel()
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		for i := range 50 {
			put(t, w, pxar.Directory, fmt.Sprintf("%02d", i), "")
			for j := range 20 {
				put(t, w, pxar.File, fmt.Sprintf("%02d", j), strings.Repeat("x", 50_000))
			}
			leave(t, w)
		}
	})
	h := &hookedReader{r: bytes.NewReader(data), at: -1}
	a, err := pxar.Open(h, int64(len(data)), pxar.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "target")
	whole(t, a, target, Options{Patterns: patterns(t, "/33/17")})
	if n := h.read.Load(); n > 500_000 || names(t, target) != "33 33/17" {
		t.Errorf("%d of %d bytes were read", n, len(data))
	}
}

func TestWhatIsThereIsReplacedOnlyOnRequest(t *testing.T) {
	t.Parallel()
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		put(t, w, pxar.FIFO, "fifo", "")
		first := put(t, w, pxar.File, "file", "new")
		link(t, w, "hardlink", "file", first)
		put(t, w, pxar.Symlink, "symlink", "new")
	})
	tests := map[string]struct {
		over Overwrite
		want string
	}{
		"nothing": {Overwrite{}, ""}, "files": {Overwrite{Files: true}, "file"}, "symlinks": {Overwrite{Symlinks: true}, "symlink"},
		"hardlinks": {Overwrite{Files: true, Hardlinks: true}, "file hardlink"}, "others": {Overwrite{Others: true}, "fifo"},
		"everything": {everything, "fifo file hardlink symlink"},
	}
	for name, test := range tests {
		base := t.TempDir()
		target := filepath.Join(base, "target")
		if err := os.Mkdir(target, 0o700); err != nil {
			t.Fatal(err)
		}
		all := []string{"fifo", "file", "hardlink", "symlink"}
		for _, entry := range all { // each has a second name elsewhere
			if err := errors.Join(os.WriteFile(base+"/"+entry, []byte("old"), 0o600), os.Link(base+"/"+entry, target+"/"+entry)); err != nil {
				t.Fatal(err)
			}
		}
		_, r := extract(t, openArchive(t, data, nil), target, Options{Overwrite: test.over})
		var replaced []string
		for _, entry := range all {
			if readFile(t, base, entry) != "old" {
				t.Errorf("%s: %s was changed under its other name", name, entry)
			}
			if info, err := os.Lstat(target + "/" + entry); err != nil || !info.Mode().IsRegular() || readFile(t, target, entry) != "old" {
				replaced = append(replaced, entry)
			} else if !strings.Contains(r.String(), `"/`+entry+`": is there already`) {
				t.Errorf("%s: nothing is said of %s: %s", name, entry, r)
			}
		}
		if strings.Join(replaced, " ") != test.want {
			t.Errorf("%s: replaced %q", name, replaced)
		}
	}
}

func TestADirectoryIsNeverReplaced(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	if err := os.MkdirAll(target+"/a/keep", 0o755); err != nil {
		t.Fatal(err)
	}
	a := openArchive(t, built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		position := put(t, w, pxar.File, "0", "x")
		link(t, w, "a", "0", position)
	}), nil)
	b := openArchive(t, built(t, pxar.Metadata{}, func(w *pxar.Writer) { put(t, w, pxar.Symlink, "a", "x") }), nil)
	c := openArchive(t, built(t, pxar.Metadata{}, func(w *pxar.Writer) { put(t, w, pxar.File, "a", "x") }), nil)
	for _, archive := range []*pxar.Archive{a, b, c} {
		stats, r := extract(t, archive, target, Options{Overwrite: everything, AllowExistingDirs: true})
		if stats.Failed != 1 || !errors.Is(r.problems[0], ErrExists) || names(t, target+"/a") != "keep" {
			t.Errorf("%+v, %s", stats, r)
		}
	}
	if names(t, target) != "0 a a/keep" {
		t.Error(names(t, target))
	}
}

// TestAFileHasItsNameWhenItIsWhole looks at a file that is being written.
func TestAFileHasItsNameWhenItIsWhole(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	if err := os.WriteFile(target+"/file", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) { put(t, w, pxar.File, "file", strings.Repeat("x", 12*bufferSize)) })
	a := hooked(t, data, 11*bufferSize, func() {
		if got := readFile(t, target, "file"); got != "old" {
			t.Errorf("%d bytes", len(got))
		}
		all := strings.Fields(names(t, target))
		if len(all) != 2 {
			t.Fatalf("%q", all)
		}
		if info, err := os.Lstat(target + "/" + all[0]); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
	whole(t, a, target, Options{Overwrite: everything})
	if len(readFile(t, target, "file")) != 12*bufferSize || names(t, target) != "file" {
		t.Error("not whole")
	}
}

// TestDirectoriesHaveTheirMetadataWhateverHappens ends the run in the middle of a file.
func TestDirectoriesHaveTheirMetadataWhateverHappens(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "target")
	root := pxar.Metadata{Stat: pxar.Stat{Mode: unix.S_IFDIR | 0o751, Seconds: 123}}
	data := built(t, root, func(w *pxar.Writer) {
		put(t, w, pxar.Directory, "dir", "")
		put(t, w, pxar.File, "a", "whole")
		put(t, w, pxar.File, "big", strings.Repeat("x", 12*bufferSize))
		leave(t, w)
		put(t, w, pxar.File, "never", "")
	})
	ctx, cancel := context.WithCancel(t.Context())
	a := hooked(t, data, 8*bufferSize, func() {
		await(t, target, "dir/a")
		cancel()
	})
	_, err := Extract(ctx, a, target, Options{})
	if !errors.Is(err, context.Canceled) || names(t, target) != "dir dir/a" {
		t.Errorf("%v, %s", err, names(t, target))
	}
	for path, want := range map[string]int64{"": 123, "/dir": 1_600_000_000} {
		if info, err := os.Stat(target + path); err != nil || info.ModTime().Unix() != want {
			t.Errorf("%q: %v, %v", path, info.ModTime(), err)
		}
	}
}

func TestARestoreGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "target")
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		put(t, w, pxar.Directory, "dir", "")
		first := put(t, w, pxar.File, "a", "whole")
		link(t, w, "b", "dir/a", first)
		put(t, w, pxar.Symlink, "c", "x")
		put(t, w, pxar.FIFO, "d", "")
		put(t, w, pxar.Socket, "e", "")
		put(t, w, pxar.File, "f-big", strings.Repeat("x", 12*bufferSize))
		leave(t, w)
		put(t, w, pxar.File, "later", "later")
	})
	ctx, cancel := context.WithCancel(t.Context())
	archive := hooked(t, data, 8*bufferSize, func() {
		await(t, target, "dir/b", "dir/c", "dir/d", "dir/e")
		cancel()
	})
	if _, err := Extract(ctx, archive, target, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	stats := whole(t, openArchive(t, data, nil), target, Options{Continue: true})
	if stats.Unchanged < 5 || stats.Files < 1 || stats.Unchanged+stats.Files != 7 { // a worker may end what it has begun
		t.Errorf("%+v", stats)
	}
	before := state(t, target)
	if stats := whole(t, openArchive(t, data, nil), target, Options{Continue: true}); stats.Unchanged != 7 || stats.Files != 0 {
		t.Errorf("%+v", stats)
	}
	if state(t, target) != before {
		t.Error("a run that had nothing to do changed something")
	}
	// What differs is in the way; what lacks only metadata gets it.
	if err := errors.Join(os.WriteFile(target+"/later", []byte("other"), 0o600), os.Chmod(target+"/dir/f-big", 0o777)); err != nil {
		t.Fatal(err)
	}
	stats, r := extract(t, openArchive(t, data, nil), target, Options{Continue: true})
	if stats.Failed != 1 || !strings.Contains(r.String(), `"/later": is there already`) || readFile(t, target, "later") != "other" {
		t.Errorf("%+v, %s", stats, r)
	}
	if info, err := os.Stat(target + "/dir/f-big"); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	stats = whole(t, openArchive(t, data, nil), target, Options{Continue: true, Overwrite: everything})
	if stats.Files != 1 || readFile(t, target, "later") != "later" {
		t.Errorf("%+v", stats)
	}
}

func TestDamageCostsOnlyWhatIsDamaged(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "target")
	text := strings.Repeat("x", 3*bufferSize)
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		for _, name := range []string{"a", "b", "c"} {
			put(t, w, pxar.File, name, text)
		}
	})
	h := &hookedReader{r: bytes.NewReader(data), at: -1}
	a, err := pxar.Open(h, int64(len(data)), pxar.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h.bad = [2]int64{5 * bufferSize, 5*bufferSize + 1}
	stats, r := extract(t, a, target, Options{})
	if stats.Damaged != 1 || stats.Files != 2 || names(t, target) != "a c" || !strings.Contains(r.String(), `"/b"`) {
		t.Errorf("%+v, %s", stats, r)
	}
	if _, err := Extract(t.Context(), a, filepath.Join(t.TempDir(), "other"), Options{Strict: true}); err == nil {
		t.Error("strict, and no error")
	}
}

func TestZerosTakeNoSpace(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 5*bufferSize)
	for name, text := range map[string]string{
		"only": zeros, "before": zeros + "x", "behind": "x" + zeros, "odd": zeros + "\x00\x00", "between": "x" + zeros + "x" + zeros + "x",
	} {
		target := filepath.Join(t.TempDir(), "target")
		stats := whole(t, openArchive(t, built(t, pxar.Metadata{}, func(w *pxar.Writer) { put(t, w, pxar.File, "file", text) }), nil), target, Options{})
		var st unix.Stat_t
		if err := unix.Stat(target+"/file", &st); err != nil {
			t.Fatal(err)
		}
		if readFile(t, target, "file") != text || st.Blocks*512 > 5*holeSize || stats.Holes < uint64(len(text))-5*holeSize {
			t.Errorf("%s: %d bytes on disk, %d in holes", name, st.Blocks*512, stats.Holes)
		}
	}
}

// TestADeepTreeNeedsFewDescriptors goes down further than any path reaches.
func TestADeepTreeNeedsFewDescriptors(t *testing.T) {
	t.Parallel()
	target := filepath.Join(inMemory(t), "target")
	const depth, linkDepth = 3000, 2000
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		var first uint64
		for i := range depth {
			put(t, w, pxar.Directory, "d", "")
			if i == linkDepth {
				first = put(t, w, pxar.File, "a", "deep down")
			}
		}
		for i := range depth {
			put(t, w, pxar.File, "file", "x")
			if i == depth-linkDepth-3 {
				link(t, w, "link", strings.Repeat("d/", linkDepth+1)+"a", first)
			}
			leave(t, w)
		}
	})
	most := 0
	a := hooked(t, data, int64(bytes.LastIndex(data, []byte("deep down"))), func() { most = descriptors(t) })
	before := descriptors(t)
	stats, r := extract(t, a, target, Options{})
	if len(r.problems) > 0 || stats.Directories != depth+1 || stats.Files != depth+1 || stats.Hardlinks != 1 {
		t.Errorf("%+v, %.1000s", stats, r)
	}
	if most-before > openDepth+64 { // other tests run beside this one
		t.Errorf("%d descriptors, %d before", most, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// inMemory is a directory that needs no disk, where there is one.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "extractor") //nolint:usetesting // another place, or open to others
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestAFullDiskEndsTheRun restores more than there is room for.
func TestAFullDiskEndsTheRun(t *testing.T) {
	t.Parallel()
	needRoot(t)
	target := t.TempDir()
	if err := unix.Mount("none", target, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip(err)
	}
	defer unix.Unmount(target, 0)
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		put(t, w, pxar.File, "a", "small")
		put(t, w, pxar.File, "b", strings.Repeat("x", 5*bufferSize))
		for i := range 100 {
			put(t, w, pxar.File, fmt.Sprintf("c%02d", i), "small")
		}
	})
	r := &report{}
	_, err := Extract(t.Context(), openArchive(t, data, nil), target, Options{Events: r.events(), NoSync: true})
	left := strings.Fields(names(t, target))
	if !errors.Is(err, unix.ENOSPC) || slices.ContainsFunc(left, func(name string) bool { return name[0] == '.' || name == "b" }) {
		t.Errorf("%v, %q", err, left)
	}
	if readFile(t, target, "a") != "small" {
		t.Error("what was there before is not whole")
	}
}

// TestALockedFileGetsItsOtherNames restores a hard link to a file that nobody may change.
func TestALockedFileGetsItsOtherNames(t *testing.T) {
	t.Parallel()
	needRoot(t)
	target := disk(t)
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		e := &pxar.Entry{Kind: pxar.File}
		e.Mode, e.Flags = unix.S_IFREG|0o644, 0x40_0000
		first, err := w.Add("a", e, nil)
		if err != nil {
			t.Fatal(err)
		}
		link(t, w, "b", "a", first)
	})
	for _, opts := range []Options{{}, {Continue: true}} {
		whole(t, openArchive(t, data, nil), target, opts)
		sameFile(t, target+"/a", target+"/b")
		b := backup{t: t}
		if m := b.metadata(target + "/b"); m.Flags&0x40_0000 == 0 {
			t.Errorf("%+v", m)
		}
	}
}
