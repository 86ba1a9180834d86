package goldenfile

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const compressed = ".zst"

// Read reads a file of the testdata of a package, such as "v1/types.pxar" of "pxar". One that has .zst behind its name, or has it on the
// disk, is decompressed.
func Read(t testing.TB, pkg, name string) []byte {
	t.Helper()
	_, self, _, _ := runtime.Caller(0)
	file := filepath.Join(filepath.Dir(self), "..", "..", pkg, "testdata", filepath.FromSlash(name))
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(name, compressed) {
		return Read(t, pkg, name+compressed)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, compressed) {
		return data
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	if data, err = decoder.DecodeAll(data, nil); err != nil {
		t.Fatal(name, err)
	}
	return data
}

// MalformedTrees are the pxar archives that were made to be wrong, by the names of their files.
func MalformedTrees(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(Read(t, "pxar", "malformed.tar"))); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err == nil {
			files[path.Base(h.Name)], err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
