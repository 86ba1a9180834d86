package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/archiver"
	"github.com/pbs-like/pbs-like/datastore"
)

// smallFiles makes 50,000 files of 0 to 16 KiB, a hundred in a directory, of text that no other has.
func smallFiles(b *testing.B) (dir string) {
	b.Helper()
	const count, inDir, largest = 50_000, 100, 16 << 10
	words := [...]string{"backup ", "snapshot ", "chunk ", "index ", "group ", "store ", "lock ", "base ", "tree ", "entry\n"}
	random := rand.New(rand.NewPCG(1, 2))
	dir = b.TempDir()
	var text []byte
	for i := range count {
		below := filepath.Join(dir, fmt.Sprintf("d%03d", i/inDir))
		if i%inDir == 0 {
			if err := os.Mkdir(below, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		size := random.IntN(random.IntN(largest) + 1)
		text = fmt.Appendf(text[:0], "file %d\n", i)
		for len(text) < size {
			text = fmt.Appendf(append(text, words[random.IntN(len(words))]...), "%x ", random.Uint32N(1<<16))
		}
		if err := os.WriteFile(filepath.Join(below, fmt.Sprintf("f%05d", i)), text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// tarAndZstd is T: what one would do without a store.
func tarAndZstd(b *testing.B, dir string) time.Duration {
	b.Helper()
	for _, name := range []string{"tar", "zstd"} {
		if _, err := exec.LookPath(name); err != nil {
			b.Skip(err)
		}
	}
	start := time.Now()
	if out, err := exec.CommandContext(b.Context(), "sh", "-c", `tar -c -C "$0" . | zstd -1 -q -c | cat >/dev/null`, dir).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return time.Since(start)
}

// addTree backs a directory up as the program does.
func addTree(b *testing.B, dir string, detection datastore.ChangeDetection, again bool) func(w *datastore.SnapshotWriter) error {
	b.Helper()
	return func(w *datastore.SnapshotWriter) error {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer f.Close()
		a, err := archiver.New(f, archiver.Options{ReadAhead: detection != datastore.ChangeDetectionMetadata || !again})
		if err != nil {
			return err
		}
		t, err := w.BeginTree(b.Context(), archive(b, "root.pxar"), datastore.TreeOptions{ChangeDetection: detection})
		if err != nil {
			return err
		}
		defer t.Close()
		if err := a.Run(b.Context(), t); err != nil {
			return err
		}
		stats, err := t.Finish()
		if again && detection == datastore.ChangeDetectionMetadata && stats.ReusedFiles < stats.Files*9/10 {
			b.Errorf("only %d of %d files reused", stats.ReusedFiles, stats.Files)
		}
		return err
	}
}

func BenchmarkSmallFiles(b *testing.B) {
	dir := smallFiles(b)
	detections := []datastore.ChangeDetection{datastore.ChangeDetectionLegacy, datastore.ChangeDetectionMetadata}
	for _, detection := range detections {
		b.Run("First/"+detection.String(), func(b *testing.B) {
			compare(b, "xT", func() time.Duration { return tarAndZstd(b, dir) }, func() time.Duration {
				return backUp(b, store(b), 1, addTree(b, dir, detection, false))
			})
		})
	}
	b.Run("Unchanged", func(b *testing.B) { // how many times as long it takes to read everything
		stores := map[datastore.ChangeDetection]*datastore.Datastore{}
		var at newest
		for _, detection := range detections {
			stores[detection] = store(b)
			backUp(b, stores[detection], at.next(), addTree(b, dir, detection, false))
		}
		again := func(detection datastore.ChangeDetection) func() time.Duration {
			return func() time.Duration { return backUp(b, stores[detection], at.next(), addTree(b, dir, detection, true)) }
		}
		compare(b, "xMetadata", again(datastore.ChangeDetectionMetadata), again(datastore.ChangeDetectionLegacy))
	})
}

func BenchmarkUnchangedBigFile(b *testing.B) {
	f, _ := image(b, 0)
	dir := b.TempDir()
	if err := os.Link(f.Name(), filepath.Join(dir, "big")); err != nil {
		b.Fatal(err)
	}
	ds := store(b)
	var at newest
	backUp(b, ds, at.next(), addTree(b, dir, datastore.ChangeDetectionLegacy, false))
	compare(b, "xS", func() time.Duration { return hashing(b, f) }, func() time.Duration {
		return backUp(b, ds, at.next(), addTree(b, dir, datastore.ChangeDetectionLegacy, true))
	})
}
