package bench

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/datastore"
)

// The store of BenchmarkCollect, and how long Proxmox Backup 4.2.3 took to collect
// one of that shape on two cores of the kind that docs/benchmarks.md names.
const (
	collectChunks     = 50_000
	collectSnapshots  = 200
	collectReferences = 47_500 // of each snapshot
	collectOriginal   = 6600 * time.Millisecond
)

// BenchmarkCollect collects a store with many references to few chunks, as many
// snapshots of the same machines have, beside what nobody can do without: reading
// the indexes and listing the chunk directories, on one core.
func BenchmarkCollect(b *testing.B) {
	dir := os.Getenv("BENCH_COLLECT_STORE") // where it stays for the next time
	if dir == "" {
		dir = filepath.Join(b.TempDir(), "store")
	}
	if _, err := os.Stat(dir); err != nil {
		fillReferences(b, dir, collectChunks, collectSnapshots, collectReferences)
	}
	var cpu time.Duration
	bare := func() time.Duration {
		start := time.Now()
		readAll(b, dir, "*.fidx")
		listAll(b, dir)
		return time.Since(start)
	}
	compare(b, "xbare", bare, func() time.Duration {
		before, start := processorTime(b), time.Now()
		collectAll(b, dir)
		took := time.Since(start)
		cpu = processorTime(b) - before
		b.ReportMetric(took.Seconds()/collectOriginal.Seconds(), "xoriginal")
		return took
	})
	b.ReportMetric(cpu.Seconds(), "cpu-s")
	b.ReportMetric(float64(cpu.Nanoseconds())/(collectSnapshots*collectReferences), "cpu-ns/ref")
}

func collectAll(b *testing.B, dir string) {
	b.Helper()
	report, err := reopen(b, dir).Collect(b.Context(), datastore.CollectOptions{Cutoff: datastore.NoCutoff})
	if err != nil || report.DiskChunks != collectChunks || report.RemovedChunks != 0 || report.Missing != 0 || report.IndexFiles != collectSnapshots {
		b.Fatalf("%+v, %v", report, err)
	}
}

// readAll reads the files that match in all directories of snapshots.
func readAll(b *testing.B, dir, pattern string) {
	b.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "vm", "*", "*", pattern))
	must(b, err)
	buffer := make([]byte, 256<<10)
	for _, name := range names {
		f, err := os.Open(name)
		must(b, err)
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, buffer)
		must(b, err)
		must(b, f.Close())
	}
}

func listAll(b *testing.B, dir string) {
	b.Helper()
	chunks := filepath.Join(dir, ".chunks")
	names := namesIn(b, chunks)
	for _, name := range names {
		namesIn(b, filepath.Join(chunks, name))
	}
}

func namesIn(b *testing.B, dir string) []string {
	b.Helper()
	f, err := os.Open(dir)
	must(b, err)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	must(b, err)
	return names
}

// processorTime is what this process has used of all cores, in programs and in the kernel.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
