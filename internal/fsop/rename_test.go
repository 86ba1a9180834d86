package fsop_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

// mixed makes a little of everything to rename and to rename onto.
func mixed(t testing.TB) *os.File {
	t.Helper()
	dir := tempDir(t)
	put(t, dir, "file", oldData)
	must(t, os.MkdirAll(dir.Name()+"/full/inner", 0o700))
	must(t, os.Mkdir(dir.Name()+"/empty", 0o700))
	must(t, os.Symlink("nowhere", dir.Name()+"/link"))
	return dir
}

func TestRenameAndLinkNeverReplace(t *testing.T) {
	t.Parallel()
	dir := mixed(t)
	all := names(t, dir)
	for _, from := range all {
		for _, to := range all {
			if err := real.Rename(dir, from, dir, to); !errors.Is(err, fs.ErrExist) {
				t.Errorf("rename %s to %s: %v", from, to, err)
			}
		}
	}
	for _, to := range all {
		if err := real.Link(dir, "file", dir, to); !errors.Is(err, fs.ErrExist) {
			t.Errorf("link to %s: %v", to, err)
		}
	}
	wantNames(t, dir, all...)
}

func TestRenameMovesBetweenDirectories(t *testing.T) {
	t.Parallel()
	dir, to := mixed(t), tempDir(t)
	for _, name := range names(t, dir) {
		must(t, real.Rename(dir, name, to, name))
	}
	wantNames(t, dir)
	wantNames(t, to, "empty", "file", "full", "link")
}

func TestRenameOfADirectoryIntoItselfIsRefused(t *testing.T) {
	t.Parallel()
	dir := mixed(t)
	if err := real.Rename(dir, "full", open(t, dir.Name()+"/full"), "x"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("%v", err)
	}
}

func TestLinkGivesASecondName(t *testing.T) {
	t.Parallel()
	dir := mixed(t)
	must(t, real.Link(dir, "file", dir, "second"))
	must(t, real.Link(dir, "link", dir, "third"))
	if a, b := stat(t, dir, "file"), stat(t, dir, "second"); a.Ino != b.Ino {
		t.Error("another file")
	}
	if a, b := stat(t, dir, "link"), stat(t, dir, "third"); a.Ino != b.Ino {
		t.Error("the symbolic link was followed")
	}
}

func TestRemoveAndRmdirTakeTheirKindOnly(t *testing.T) {
	t.Parallel()
	dir := mixed(t)
	for _, c := range []struct {
		do   func(*fsop.Disk, *os.File, string) error
		name string
		want error
	}{
		{(*fsop.Disk).Remove, "empty", unix.EISDIR},
		{(*fsop.Disk).Rmdir, "file", unix.ENOTDIR},
		{(*fsop.Disk).Rmdir, "link", unix.ENOTDIR},
		{(*fsop.Disk).Rmdir, "full", unix.ENOTEMPTY},
		{(*fsop.Disk).Remove, "none", fs.ErrNotExist},
		{(*fsop.Disk).Rmdir, "none", fs.ErrNotExist},
		{(*fsop.Disk).Remove, "file", nil},
		{(*fsop.Disk).Remove, "link", nil},
		{(*fsop.Disk).Rmdir, "empty", nil},
	} {
		if err := c.do(real, dir, c.name); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	wantNames(t, dir, "full")
}
