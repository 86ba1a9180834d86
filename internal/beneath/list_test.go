package beneath_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

func TestNamesAreThoseOfTheDirectoryHoweverSmallTheBuffer(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	want := []string{}
	for i := range 100 {
		name := fmt.Sprintf("file %03d", i)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(parent, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range []int{64, 1024, 1 << 20} {
		dir, err := os.Open(parent)
		if err != nil {
			t.Fatal(err)
		}
		names, err := beneath.Names(int(dir.Fd()), make([]byte, size))
		slices.Sort(names)
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%d bytes: %q, %v", size, names, err)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := beneath.Names(-1, make([]byte, 1024)); !errors.Is(err, unix.EBADF) {
		t.Error(err)
	}
}

func TestOpenDirsOpensDirectoriesAndFollowsNoLink(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(parent, "d"), 0o700), os.Symlink("d", filepath.Join(parent, "link")),
		os.WriteFile(filepath.Join(parent, "file"), []byte("abc"), 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.Open(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	err = beneath.OpenDirs(root, func(open func(string) (int, error)) error {
		fd, err := open("d")
		if err != nil {
			return err
		}
		for name, want := range map[string]error{"link": beneath.ErrSymlink, "file": unix.ENOTDIR, "../x": beneath.ErrName, "none": os.ErrNotExist} {
			if _, err := open(name); !errors.Is(err, want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		return unix.Close(fd)
	})
	if err != nil {
		t.Error(err)
	}
	st, err := beneath.StatFD(int(root.Fd()), "file")
	if err != nil || st.Size != 3 {
		t.Errorf("%+v, %v", st, err)
	}
	for name, want := range map[string]error{"none": os.ErrNotExist, "..": beneath.ErrName} {
		if _, err := beneath.StatFD(int(root.Fd()), name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
