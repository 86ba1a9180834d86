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
	reader, err := ds.OpenSnapshot(b.Context(), backupinfo.Snapshot{Group: group(b, "vm/100"), Time: 1}, datastore.ReadOptions{})
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

// BenchmarkRestoreToFile compares with writing the same bytes plain, without
// holes; neither waits for the disk.
func BenchmarkRestoreToFile(b *testing.B) { restoreToFile(b, true) }

// BenchmarkDurableRestoreToFile waits for the disk in both.
func BenchmarkDurableRestoreToFile(b *testing.B) { restoreToFile(b, false) }

func restoreToFile(b *testing.B, noSync bool) {
	b.Helper()
	f, size := image(b, 0)
	ds := store(b)
	backUp(b, ds, 1, addImage(b, f, size))
	warm(b, ds)
	target := filepath.Join(b.TempDir(), "out.raw")
	compare(b, "xplain", func() time.Duration {
		took := writePlain(b, f, target, noSync)
		must(b, os.Remove(target))
		return took
	}, func() time.Duration {
		took := restored(b, ds, func(a *datastore.Archive) error {
			_, err := a.RestoreFile(b.Context(), target, datastore.RestoreOptions{NoSync: noSync})
			return err
		})
		must(b, os.Remove(target))
		return took
	})
}

func writePlain(b *testing.B, f *os.File, target string, noSync bool) time.Duration {
	b.Helper()
	out, err := os.Create(target)
	must(b, err)
	defer out.Close()
	start := time.Now()
	eachBlock(b, f, func(data []byte) {
		_, err := out.Write(data)
		must(b, err)
	})
	if !noSync {
		must(b, out.Sync())
	}
	return time.Since(start)
}
