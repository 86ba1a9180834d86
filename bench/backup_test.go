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

// store makes an empty store. Its chunk directories are made as they are needed.
func store(b *testing.B) *datastore.Datastore {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "store")
	for _, name := range []string{dir, filepath.Join(dir, ".chunks")} {
		if err := os.Mkdir(name, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	return reopen(b, dir)
}

func reopen(b *testing.B, dir string) *datastore.Datastore {
	b.Helper()
	ds, err := datastore.Open(dir, datastore.Options{OnlyHost: true})
	if err != nil {
		b.Fatal(err)
	}
	return ds
}

func group(b *testing.B, name string) backupinfo.Group {
	b.Helper()
	g, err := backupinfo.ParseGroup(backupinfo.Namespace{}, name)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func archive(b *testing.B, name string) backupinfo.ArchiveName {
	b.Helper()
	a, err := backupinfo.ParseArchiveName(name)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// newest is for times of snapshots that grow.
type newest backupinfo.Time

func (n *newest) next() backupinfo.Time { *n++; return backupinfo.Time(*n) }

// backUp makes a snapshot, with everything that belongs to it, and takes the time.
func backUp(b *testing.B, ds *datastore.Datastore, at backupinfo.Time, add func(w *datastore.SnapshotWriter) error) time.Duration {
	b.Helper()
	start := time.Now()
	w, err := ds.Backup(b.Context(), group(b, "vm/100"), datastore.BackupOptions{Time: at})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	if err := add(w); err != nil {
		b.Fatal(err)
	}
	if _, err := w.Commit(b.Context()); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func addImage(b *testing.B, f *os.File, size int64) func(w *datastore.SnapshotWriter) error {
	b.Helper()
	return func(w *datastore.SnapshotWriter) error {
		_, err := w.AddImage(b.Context(), archive(b, "disk.img"), f, size)
		return err
	}
}

func addStream(b *testing.B, f *os.File) func(w *datastore.SnapshotWriter) error {
	b.Helper()
	return func(w *datastore.SnapshotWriter) error {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := w.AddStream(b.Context(), archive(b, "disk.didx"), struct{ io.Reader }{f})
		return err
	}
}

func BenchmarkFirstBackup(b *testing.B) {
	f, size := image(b, 0)
	compare(b, "xF", func() time.Duration { return computing(b, f) }, func() time.Duration {
		return backUp(b, store(b), 1, addImage(b, f, size))
	})
}

func BenchmarkUnchangedBackup(b *testing.B) {
	f, size := image(b, 0)
	ds := store(b)
	var at newest
	backUp(b, ds, at.next(), addImage(b, f, size))
	compare(b, "xS", func() time.Duration { return hashing(b, f) }, func() time.Duration {
		return backUp(b, ds, at.next(), addImage(b, f, size))
	})
}

func BenchmarkChangedBackup(b *testing.B) {
	f, size := image(b, 0)
	changed, _ := image(b, 1)
	var at newest
	compare(b, "xS", func() time.Duration { return hashing(b, f) }, func() time.Duration {
		ds := store(b)
		backUp(b, ds, at.next(), addImage(b, f, size))
		return backUp(b, ds, at.next(), addImage(b, changed, size))
	})
}

func BenchmarkUnchangedStream(b *testing.B) {
	f, _ := image(b, 0)
	ds := store(b)
	var at newest
	backUp(b, ds, at.next(), addStream(b, f))
	compare(b, "xS", func() time.Duration { return hashing(b, f) }, func() time.Duration {
		return backUp(b, ds, at.next(), addStream(b, f))
	})
}
