package extractor

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

var everything = Overwrite{Files: true, Symlinks: true, Hardlinks: true, Others: true}

// TestNoKnownWayOut has what lets the original out of its target, and what might.
func TestNoKnownWayOut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		add  func(t *testing.T, w *pxar.Writer)
		want string
	}{
		"a hard link upwards": {func(t *testing.T, w *pxar.Writer) {
			t.Helper()
			position := put(t, w, pxar.File, "a", "a")
			link(t, w, "b", "../outside/victim", position)
		}, `"/b": not a hard link that can be followed`},
		"a hard link with an absolute path": {func(t *testing.T, w *pxar.Writer) {
			t.Helper()
			position := put(t, w, pxar.File, "a", "a")
			link(t, w, "b", "/outside/victim", position)
		}, `"/b": not a hard link that can be followed`},
		"a hard link through a link of the archive": {func(t *testing.T, w *pxar.Writer) {
			t.Helper()
			put(t, w, pxar.Symlink, "a", "../outside")
			position := put(t, w, pxar.File, "b", "b")
			link(t, w, "c", "a/victim", position)
		}, `"/c": not a hard link that can be followed`},
		"a link, then a directory": {func(t *testing.T, w *pxar.Writer) {
			t.Helper()
			put(t, w, pxar.Symlink, "a", "../outside")
			put(t, w, pxar.Directory, "a", "")
			put(t, w, pxar.File, "victim", "evil")
			leave(t, w)
		}, `"/a": not a name to restore: the archive has it twice`},
		"a link, then a file": {func(t *testing.T, w *pxar.Writer) {
			t.Helper()
			put(t, w, pxar.Symlink, "a", "../outside/victim")
			put(t, w, pxar.File, "a", "evil")
		}, `"/a": not a name to restore: the archive has it twice`},
		"a link, then another name, then a directory": {func(t *testing.T, w *pxar.Writer) {
			t.Helper()
			put(t, w, pxar.Symlink, "a", "../outside")
			put(t, w, pxar.File, "b", "")
			put(t, w, pxar.Directory, "a", "")
			put(t, w, pxar.File, "victim", "evil")
			leave(t, w)
		}, "comes twice in the archive: a symbolic link in the place of a directory"},
		"a link, then another name, then a file": {func(t *testing.T, w *pxar.Writer) {
			t.Helper()
			put(t, w, pxar.Symlink, "a", "../outside/victim")
			put(t, w, pxar.File, "b", "")
			put(t, w, pxar.File, "a", "evil")
		}, "comes twice in the archive: a symbolic link in the place of a file"},
		"a file, then a link, then a hard link to the file": {func(t *testing.T, w *pxar.Writer) {
			t.Helper()
			position := put(t, w, pxar.File, "a", "good")
			put(t, w, pxar.File, "b", "")
			put(t, w, pxar.Symlink, "a", "../outside/victim")
			link(t, w, "c", "a", position)
		}, "comes twice in the archive: a file in the place of a symlink"},
	}
	for name, test := range tests {
		for _, opts := range []Options{{}, {Overwrite: everything, AllowExistingDirs: true}, {Overwrite: everything, Continue: true}} {
			base, before := outside(t)
			a := openArchive(t, built(t, pxar.Metadata{}, func(w *pxar.Writer) { test.add(t, w) }), nil)
			stats, r := extract(t, a, base+"/target", opts)
			if !strings.Contains(r.String(), test.want) || stats.Losses == 0 {
				t.Errorf("%s: %q", name, r)
			}
			if state(t, base+"/outside") != before {
				t.Errorf("%s: something outside was changed", name)
			}
		}
	}
}

// TestNoLinkInTheTargetIsFollowed finds links in the place of each kind of entry, and on the way of a hard link.
func TestNoLinkInTheTargetIsFollowed(t *testing.T) {
	t.Parallel()
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		put(t, w, pxar.Directory, "dir", "")
		position := put(t, w, pxar.File, "file", "new")
		leave(t, w)
		put(t, w, pxar.FIFO, "fifo", "")
		put(t, w, pxar.File, "file", "new")
		link(t, w, "hardlink", "dir/file", position)
		put(t, w, pxar.Symlink, "symlink", "somewhere")
	})
	for name, opts := range map[string]Options{
		"plain": {}, "over": {Overwrite: everything, AllowExistingDirs: true}, "on": {Overwrite: everything, Continue: true}, "strict": {Strict: true},
	} {
		base, before := outside(t)
		for link, to := range map[string]string{
			"dir": "../outside/dir", "fifo": "../outside/victim", "file": "../outside/victim", "hardlink": "../outside/victim", "symlink": "../outside/dir",
		} {
			if err := os.Symlink(to, base+"/target/"+link); err != nil {
				t.Fatal(err)
			}
		}
		r := &report{}
		opts.Events = r.events()
		_, err := Extract(t.Context(), openArchive(t, data, nil), base+"/target", opts)
		if (err != nil) != opts.Strict || !errors.Is(r.problems[0], ErrExists) || r.problems[0].Path != "/dir" {
			t.Errorf("%s: %v, %s", name, err, r)
		}
		if state(t, base+"/outside") != before {
			t.Errorf("%s: something outside was changed", name)
		}
		if name == "over" && (readFile(t, base, "target/file") != "new" || readFile(t, base, "target/hardlink") != "new") {
			t.Error("links were not replaced")
		}
	}
}

// TestATargetThatIsReplacedIsNotFollowed exchanges the target for a link, and a directory in it, while a content is read.
func TestATargetThatIsReplacedIsNotFollowed(t *testing.T) {
	t.Parallel()
	base, before := outside(t)
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		put(t, w, pxar.Directory, "dir", "")
		put(t, w, pxar.File, "big", strings.Repeat("x", 3*bufferSize))
		put(t, w, pxar.File, "victim", "evil")
		leave(t, w)
		put(t, w, pxar.File, "victim", "evil")
	})
	a := hooked(t, data, bufferSize+1000, func() {
		for _, swap := range [][2]string{{"/target/dir", "../outside"}, {"/target", "outside"}} { // in this order, or the first one would change what is outside
			err := errors.Join(os.Rename(base+swap[0], base+"/aside"+swap[1][:1]), os.Symlink(swap[1], base+swap[0]))
			if err != nil {
				t.Error(err)
			}
		}
	})
	extract(t, a, base+"/target", Options{Overwrite: everything, AllowExistingDirs: true})
	if state(t, base+"/outside") != before {
		t.Error("something outside was changed")
	}
}

// TestOnlyOneRestoreGoesIntoADirectory holds the lock.
func TestOnlyOneRestoreGoesIntoADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	a := openArchive(t, built(t, pxar.Metadata{}, func(*pxar.Writer) {}), nil)
	if _, err := Extract(t.Context(), a, dir, Options{}); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
}

// TestNothingGoesWhereItIsKeptOut protects a directory below the target.
func TestNothingGoesWhereItIsKeptOut(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	if err := os.MkdirAll(target+"/srv/store", 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(target + "/srv/store")
	if err != nil {
		t.Fatal(err)
	}
	before := state(t, target+"/srv/store")
	a := openArchive(t, built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		put(t, w, pxar.Directory, "srv", "")
		put(t, w, pxar.Directory, "store", "")
		put(t, w, pxar.File, "file", "x")
		leave(t, w)
		leave(t, w)
	}), nil)
	stats, r := extract(t, a, target, Options{AllowExistingDirs: true, Overwrite: everything, KeepOut: []os.FileInfo{info}})
	if stats.Losses != 1 || !strings.Contains(r.String(), "/srv/store") || state(t, target+"/srv/store") != before {
		t.Errorf("%+v, %s", stats, r)
	}
}
