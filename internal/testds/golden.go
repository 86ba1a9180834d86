package testds

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Golden unpacks a store that the original program wrote: "store",
// "store-damaged" or "store-damaged-verified", from the module's testdata.
func Golden(t testing.TB, name string) *Store {
	t.Helper()
	dir := t.TempDir()
	if err := unpack(Testdata(t, filepath.Join("golden", name+".tar.gz")), dir); err != nil {
		t.Fatal(err)
	}
	// An archive keeps neither empty directories nor the times of a live store, and no owner where we are not root.
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%q should hold one directory: %v", name, err)
	}
	store := watch(t, filepath.Join(dir, entries[0].Name()))
	store.Damaged = true
	return store
}

// Testdata is the path of a file in the module's testdata.
func Testdata(t testing.TB, name string) string {
	t.Helper()
	_, self, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(self), "..", "..", "testdata", name)
}

func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := tar.NewReader(zipped)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackEntry(root, header, files); err != nil {
			return err
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name := filepath.Clean(header.Name)
	mode := header.FileInfo().Mode().Perm()
	switch header.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	default:
		return errors.New("unexpected entry " + header.Name)
	}
	if os.Geteuid() == 0 {
		if err := root.Lchown(name, header.Uid, header.Gid); err != nil {
			return err
		}
	}
	return root.Chmod(name, mode)
}
