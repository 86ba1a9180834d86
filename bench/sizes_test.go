package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/datastore"
)

// BenchmarkSizes computes the sizes of the store of BenchmarkCollect, beside what
// nobody can do without: reading the indexes and listing the chunk directories, on one core.
func BenchmarkSizes(b *testing.B) {
	dir := os.Getenv("BENCH_COLLECT_STORE")
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
		report, err := reopen(b, dir).Sizes(b.Context())
		if err != nil || report.References != collectSnapshots*collectReferences || report.Total.Chunks != collectChunks || report.Total.Missing != 0 {
			b.Fatalf("%+v, %v", report.Total, err)
		}
		cpu = processorTime(b) - before
		return time.Since(start)
	})
	b.ReportMetric(cpu.Seconds(), "cpu-s")
	b.ReportMetric(float64(cpu.Nanoseconds())/(collectSnapshots*collectReferences), "cpu-ns/ref")
}

// BenchmarkSizesMemory tells what a computation holds at its end for each of many chunks.
func BenchmarkSizesMemory(b *testing.B) {
	const chunks = 1_000_000
	dir := filepath.Join(b.TempDir(), "store")
	fillReferences(b, dir, chunks, 2, chunks)
	for b.Loop() {
		highest := uint64(0)
		ds, err := datastore.Open(dir, datastore.Options{OnlyHost: true, Events: datastore.Events{Progress: func(p datastore.Progress) {
			if p.Operation == "measure" {
				highest = max(highest, liveMemory())
			}
		}}})
		must(b, err)
		before := liveMemory()
		report, err := ds.Sizes(b.Context())
		if err != nil || report.Total.Chunks != chunks {
			b.Fatalf("%+v, %v", report.Total, err)
		}
		b.ReportMetric(float64(highest-before)/chunks, "live-B/chunk")
	}
}

func liveMemory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
