package bench

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
)

// proving reads, decodes and hashes each chunk of a store in a bare loop, and gives its time shared out over the cores.
func proving(b *testing.B, ds *datastore.Datastore) time.Duration {
	b.Helper()
	decoder := blob.NewDecoder()
	defer decoder.Close()
	var data []byte
	start := time.Now()
	must(b, filepath.WalkDir(filepath.Join(ds.Path(), ".chunks"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		stored, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if data, err = decoder.Decode(data[:0], stored, block); err != nil {
			return err
		}
		sha256.Sum256(data)
		return nil
	}))
	return time.Since(start) / time.Duration(runtime.GOMAXPROCS(0))
}

// BenchmarkVerify verifies an image, against a bare loop over its chunks on all cores.
func BenchmarkVerify(b *testing.B) {
	f, size := image(b, 0)
	ds := store(b)
	backUp(b, ds, 1, addImage(b, f, size))
	compare(b, "xbare/cores", func() time.Duration { return proving(b, ds) }, func() time.Duration {
		start := time.Now()
		report, err := ds.Verify(b.Context(), datastore.VerifyOptions{Depth: -1})
		if err != nil || report.Verdicts[datastore.VerdictOK] != 1 {
			b.Fatalf("%+v, %v", report, err)
		}
		return time.Since(start)
	})
}

// BenchmarkPrune removes 990 snapshots of 1,000, against rm -rf of as many.
func BenchmarkPrune(b *testing.B) {
	ds := store(b)
	g := group(b, "vm/100")
	fresh := func() string {
		dir := filepath.Join(ds.Path(), g.Dir())
		must(b, os.RemoveAll(dir))
		fillGroup(b, ds, g, 1000)
		return dir
	}
	remove := func() time.Duration {
		dir := fresh()
		return command(b, "sh", "-c", `cd "$0" && rm -rf -- $(ls | grep -v owner | head -n 990)`, dir)
	}
	compare(b, "xrm", remove, func() time.Duration {
		fresh()
		start := time.Now()
		report, err := ds.Prune(b.Context(), g, datastore.PruneOptions{Keep: backupinfo.KeepOptions{Last: 10}})
		if err != nil || report.Count(datastore.PruneRemoved) != 990 {
			b.Fatal(report.Count(datastore.PruneRemoved), err)
		}
		return time.Since(start)
	})
}

// BenchmarkPruneDecision decides about 100,000 snapshots by all rules at once.
func BenchmarkPruneDecision(b *testing.B) {
	g := group(b, "vm/100")
	list := make([]backupinfo.PruneCandidate, 100_000)
	for i := range list {
		list[i] = backupinfo.PruneCandidate{Snapshot: backupinfo.Snapshot{Group: g, Time: backupinfo.Time(1_000_000_000 + 3600*i)}, Finished: true}
	}
	keep := backupinfo.KeepOptions{Last: 10, Hourly: 1000, Daily: 1000, Weekly: 500, Monthly: 100, Yearly: 10}
	zone, err := time.LoadLocation("Europe/Vienna")
	must(b, err)
	for b.Loop() {
		if len(backupinfo.Prune(list, keep, zone)) != len(list) {
			b.Fatal("some are missing")
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
}
