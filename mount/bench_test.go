package mount_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/mount"
)

// benchmarkImage is a store with an image that compresses to half its size.
func benchmarkImage(b *testing.B, size int) (*testds.Store, backupinfo.Snapshot) {
	b.Helper()
	image := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	for at := 0; at < size; at += 1024 {
		_, _ = random.Read(image[at : at+512])
	}
	store := testds.New(b)
	return store, store.Backup("vm/100", older, image)
}

// processorTime is what this process has used, the file system and who reads it together.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const benchmarkSize = 256 << 20

// BenchmarkReadImage reads an image from front to back, out of a mount and, to compare, as a restore does.
func BenchmarkReadImage(b *testing.B) {
	store, snapshot := benchmarkImage(b, benchmarkSize)
	ds := store.Open(datastore.Options{})
	measure := func(b *testing.B, read func() error) {
		b.Helper()
		b.SetBytes(benchmarkSize)
		before := processorTime(b)
		for b.Loop() {
			if err := read(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1e6, "cpu-ms/op")
	}
	b.Run("mount", func(b *testing.B) {
		point, _ := mounted(b, ds, mount.Options{})
		buf := make([]byte, 1<<20)
		measure(b, func() error {
			f, err := os.Open(imageOf(point, snapshot))
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, buf)
			return err
		})
	})
	b.Run("restore", func(b *testing.B) {
		r, err := ds.OpenSnapshot(b.Context(), snapshot, datastore.ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		defer r.Close()
		a, err := r.OpenArchive(b.Context(), archiveName(b, testds.ImageName))
		if err != nil {
			b.Fatal(err)
		}
		defer a.Close()
		measure(b, func() error {
			_, err := a.CopyTo(b.Context(), io.Discard, datastore.RestoreOptions{})
			return err
		})
	})
}

// BenchmarkLookup finds files of a large directory, each for the first time.
func BenchmarkLookup(b *testing.B) {
	const count = 100_000
	store := testds.New(b)
	snapshot := streams(b, store, map[string][]byte{"root.pxar": largeDirectory(b, count)})
	point, _ := mounted(b, store.Open(datastore.Options{}), mount.Options{Snapshot: &snapshot, Archive: archiveName(b, "root.pxar")})
	n := 0
	for b.Loop() {
		if _, err := os.Lstat(filepath.Join(point, fmt.Sprintf("%06d", n%count))); err != nil {
			b.Fatal(err)
		}
		n += 7
	}
}
