package archiver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mount mounts a file system of a kind that needs no device.
func mount(t *testing.T, kind, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	must(t, os.Mkdir(dir, 0o755))
	if err := unix.Mount("none", dir, kind, 0, ""); err != nil {
		t.Skipf("mounting %s: %v", kind, err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

func deviceOf(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	return uint64(st.Dev)
}

func TestOtherFileSystemsAreEmptyDirectoriesUnlessTheyAreWanted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, "a", "z")
	for name, kind := range map[string]string{"one": "tmpfs", "two": "tmpfs", "proc": "proc"} {
		mount(t, kind, filepath.Join(dir, name))
	}
	plantText(t, dir, "one/sub/file", "1")
	plantText(t, dir, "two/file", "2")
	for name, test := range map[string]struct {
		opts Options
		want string
		told uint64
	}{
		"one file system": {Options{}, "/a /one /proc /two /z", 3},
		"one more":        {Options{Devices: []uint64{deviceOf(t, filepath.Join(dir, "one"))}}, "/a /one /one/sub /one/sub/file /proc /two /z", 2},
		"all":             {Options{AllFileSystems: true}, "/a /one /one/sub /one/sub/file /proc /two /two/file /z", 1},
		"a pseudo one": {
			Options{Devices: []uint64{deviceOf(t, filepath.Join(dir, "proc"))}}, "/a /one /proc /two /z", 3,
		},
		"excluded": {Options{Exclude: patterns(t, "/one"), AllFileSystems: true}, "/a /proc /two /two/file /z", 1},
	} {
		got, report := archive(t, dir, test.opts)
		if paths := strings.Join(got.paths(t), " "); paths != test.want {
			t.Errorf("%s: %s", name, paths)
		}
		if report.Warnings[MountPoint] != test.told || report.Incomplete != 0 {
			t.Errorf("%s: %+v", name, report)
		}
	}
	modes := modesOf(t, dir)
	if mode := modes["/one"]; mode != unix.S_IFDIR|0o1777 {
		t.Errorf("the mounted directory has mode %o", mode)
	}
}

func modesOf(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	got, _ := archive(t, dir, Options{})
	modes := map[string]uint64{}
	for _, e := range got.entries(t) {
		modes[e.Path] = e.Mode
	}
	return modes
}

func TestAPseudoFileSystemIsRefused(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/proc", "/sys"} {
		if _, err := run(t, dir, Options{}, nil); !errors.Is(err, ErrPseudo) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestAFileIsNoDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, "file")
	if _, err := run(t, filepath.Join(dir, "file"), Options{}, nil); !errors.Is(err, unix.ENOTDIR) {
		t.Error(err)
	}
}
