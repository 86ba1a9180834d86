package archiver

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"
)

func openContent(t *testing.T, path string) *content {
	t.Helper()
	fd, err := openRead(unix.AT_FDCWD, path, 0)
	must(t, err)
	var st unix.Stat_t
	must(t, unix.Fstat(fd, &st))
	c := newContent(t.Context(), &Archiver{}, &item{name: "file", where: &place{}}, fd, &st)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// pieces writes a file that has content at some places only.
func pieces(t *testing.T, path string, size int64, at ...int64) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for _, place := range at {
		_, err := f.WriteAt([]byte("content"), place)
		must(t, err)
	}
	must(t, f.Truncate(size))
}

func TestASparseFileReadsAsAnyOther(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, at := range map[string][]int64{
		"nothing": nil, "at the beginning": {0}, "in the middle": {mib, 3*mib + 17}, "at the end": {5*mib - 7}, "everywhere": {0, 70_000, 2 * mib, 5*mib - 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			pieces(t, path, 5*mib, at...)
			want, err := os.ReadFile(path)
			must(t, err)
			for _, r := range []io.Reader{openContent(t, path), iotest.HalfReader(openContent(t, path))} {
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
}

// readByThread is how many bytes this thread has asked the system for.
func readByThread(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/io")
	if err != nil {
		t.Skipf("the system does not count what is read: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "rchar: ")
	number, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseUint(number, 10, 64)
	must(t, err)
	return n
}

func TestAHoleIsNotRead(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const size, data = 64 << 20, 1 << 20
	path := filepath.Join(t.TempDir(), "file")
	pieces(t, path, size, 10<<20, 40<<20)
	c := openContent(t, path)
	if !c.sparse {
		t.Skip("the file system keeps no holes")
	}
	before := readByThread(t)
	n, err := io.Copy(io.Discard, c)
	must(t, err)
	if read := readByThread(t) - before; n != size || read > data {
		t.Errorf("%d bytes, for which %d were read", n, read)
	}
}

func TestASparseFileThatShrinksIsTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	pieces(t, path, 1<<20, 0)
	c := openContent(t, path)
	must(t, os.Truncate(path, 100))
	n, err := io.Copy(io.Discard, c)
	if n != 1<<20 || err != nil || c.notes.report.Warnings[Shrunk] != 1 {
		t.Errorf("%d bytes, %v, %v", n, err, c.notes.report.Warnings)
	}
}
