package fsop

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Which file systems lack RENAME_NOREPLACE is not ours to choose, so the way
// around is called by itself.
func TestTheWayAroundRenameNoReplaceRefusesWhatIsThere(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, name := range []string{"a", "empty"} {
		if err := os.Mkdir(path+"/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := renameIfFree(dir, "a", dir, "empty"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto an empty directory: %v", err)
	}
	if err := renameIfFree(dir, "a", dir, "b"); err != nil {
		t.Error(err)
	}
	if err := renameIfFree(dir, "a", dir, "c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

// Between looking at a name and opening it, it may become a symbolic link. No
// hook runs in that instant, so the opening is tried by itself.
func TestOpeningDoesNotFollowALink(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := os.Symlink("/", path+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []int{unix.O_RDONLY | unix.O_DIRECTORY, unix.O_PATH | unix.O_DIRECTORY, unix.O_RDWR} {
		if f, err := openAt(dir, "link", flag, 0); err == nil {
			f.Close()
			t.Errorf("flags %#x: opened", flag)
		}
	}
}
