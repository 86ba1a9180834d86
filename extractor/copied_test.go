package extractor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

// TestARestoreGoesOnWhereALinkBecameAFile has a directory on another file system, to which no link leads.
func TestARestoreGoesOnWhereALinkBecameAFile(t *testing.T) {
	t.Parallel()
	needRoot(t)
	target := t.TempDir()
	elsewhere := filepath.Join(target, "dir")
	if err := os.Mkdir(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", elsewhere, "tmpfs", 0, ""); err != nil {
		t.Skipf("mounting: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(elsewhere, unix.MNT_DETACH) })
	archive := openArchive(t, built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		first := put(t, w, pxar.File, "a", "content")
		put(t, w, pxar.Directory, "dir", "")
		link(t, w, "b", "a", first)
		leave(t, w)
	}), nil)
	if stats := whole(t, archive, target, Options{Continue: true}); stats.LinksCopied != 1 {
		t.Fatalf("%+v", stats)
	}
	for _, overwrite := range []Overwrite{{}, everything} {
		if stats := whole(t, archive, target, Options{Continue: true, Overwrite: overwrite}); stats.Unchanged != 2 || stats.Files != 0 {
			t.Errorf("%+v", stats)
		}
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "b"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, r := extract(t, archive, target, Options{Continue: true})
	if !strings.Contains(r.String(), `"/dir/b": is there already`) || names(t, elsewhere) != "b" {
		t.Errorf("%s; there is %s", r, names(t, elsewhere))
	}
}

func TestAFileInThePlaceOfALinkIsInTheWayWhereLinksCanBeMade(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	archive := openArchive(t, built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		first := put(t, w, pxar.File, "a", "content")
		link(t, w, "b", "a", first)
	}), nil)
	if err := os.WriteFile(filepath.Join(target, "b"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, r := extract(t, archive, target, Options{Continue: true})
	if !strings.Contains(r.String(), `"/b": is there already`) || names(t, target) != "a b" {
		t.Errorf("%s; there is %s", r, names(t, target))
	}
}
