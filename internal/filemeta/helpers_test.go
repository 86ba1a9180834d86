package filemeta

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

// disk gives a directory on a file system that keeps everything, which the one of the tests is or is not.
func disk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	fd := open(t, dir, unix.O_RDONLY)
	if system, err := FileSystemOf(fd); err != nil || !system.hasProjects() && system != unix.BTRFS_SUPER_MAGIC {
		t.Skipf("temporary files are on a file system of kind %#x, which keeps less (%v)", system, err)
	}
	return dir
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can")
	}
}

// run calls a program that has to be there in CI.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil && os.Getenv("CI") == "" {
		t.Skipf("%s is not installed", name)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func open(t *testing.T, path string, flag int) int {
	t.Helper()
	fd, err := unix.Open(path, flag|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func write(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func makeDir(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func statOf(t *testing.T, fd int) *unix.Stat_t {
	t.Helper()
	st := &unix.Stat_t{}
	if err := unix.Fstat(fd, st); err != nil {
		t.Fatal(err)
	}
	return st
}

func read(t *testing.T, fd int) pxar.Metadata {
	t.Helper()
	m, err := Read(fd, statOf(t, fd), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func noErrors(t *testing.T, errs []*Error) {
	t.Helper()
	for _, err := range errs {
		t.Error(err)
	}
}
