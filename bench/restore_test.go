package bench

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// warm reads every chunk once: they were written past the page cache.
func warm(b *testing.B, ds *datastore.Datastore) {
	b.Helper()
	err := filepath.WalkDir(filepath.Join(ds.Path(), ".chunks"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(io.Discard, struct{ io.Reader }{f})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

func restored(b *testing.B, ds *datastore.Datastore, restore func(a *datastore.Archive) error) time.Duration {
	b.Helper()
	start := time.Now()
	reader, err := ds.OpenSnapshot(b.Context(), backupinfo.Snapshot{Group: group(b, "vm/100"), Time: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	a, err := reader.OpenArchive(b.Context(), archive(b, "disk.img"))
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	if err := restore(a); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func BenchmarkRestoreToNull(b *testing.B) {
	f, size := image(b, 0)
	ds := store(b)
	backUp(b, ds, 1, addImage(b, f, size))
	warm(b, ds)
	compare(b, "xS", func() time.Duration { return hashing(b, f) }, func() time.Duration {
		return restored(b, ds, func(a *datastore.Archive) error {
			_, err := a.CopyTo(b.Context(), io.Discard, datastore.RestoreOptions{})
			return err
		})
	})
}

// BenchmarkRestoreToFile compares with writing the same bytes plain, without holes.
func BenchmarkRestoreToFile(b *testing.B) {
	f, size := image(b, 0)
	ds := store(b)
	backUp(b, ds, 1, addImage(b, f, size))
	warm(b, ds)
	target := filepath.Join(b.TempDir(), "out.raw")
	plain := func() time.Duration {
		out, err := os.Create(target)
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		eachBlock(b, f, func(data []byte) {
			if _, err := out.Write(data); err != nil {
				b.Fatal(err)
			}
		})
		took := time.Since(start)
		if err := out.Close(); err != nil {
			b.Fatal(err)
		}
		if err := os.Remove(target); err != nil {
			b.Fatal(err)
		}
		return took
	}
	compare(b, "xplain", plain, func() time.Duration {
		took := restored(b, ds, func(a *datastore.Archive) error {
			_, err := a.RestoreFile(b.Context(), target, datastore.RestoreOptions{})
			return err
		})
		if err := os.Remove(target); err != nil {
			b.Fatal(err)
		}
		return took
	})
}
