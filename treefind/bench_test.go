package treefind_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/treefind"
)

// grown is a tree of 50 thousand files, of which a tenth changes from one day to the next.
func grown(day int) (t tree) {
	for dir := range 500 {
		t = append(t, fmt.Sprintf("directory-%03d/", dir))
		for file := range 100 {
			size := 1
			if dir%10 == day%10 {
				size = day + 1
			}
			t = append(t, fmt.Sprintf("directory-%03d/some-file-%02d.conf=%d", dir, file, size))
		}
	}
	return t
}

// processorTime is that of the process so far: on a machine that others use, it says more than the clock.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkSearch searches 100 snapshots: as the first time, and when it was done before.
func BenchmarkSearch(b *testing.B) {
	store := testds.New(b)
	store.Damaged = true // its archives are left out, which makes a search quicker than it would be
	for day := range 100 {
		t := grown(day)
		backup(b, store, "host/h", backupinfo.Time(day+1), map[string][]byte{"root.pxar": []byte("not read"), "catalog.pcat1": t.catalog(b)}, nil)
	}
	for _, query := range []treefind.Query{
		{Pattern: "some-file-07.conf", PathGlob: "/directory-007/**"},
		{Pattern: "*-file-07.co*", PathGlob: "/directory-007/**"},
		{Pattern: "/directory-007/some-file-07.conf", IgnoreCase: true},
	} {
		search := treefind.Search{Store: store.Open(datastore.Options{}), Matcher: compiled(b, query)}
		run := func(cache *treefind.Cache) {
			search.Cache = cache
			for m, err := range search.Group(b.Context(), store.Group("host/h")) {
				if err != nil || m.Path != "/directory-007/some-file-07.conf" || len(m.Versions) < 10 {
					b.Fatal(m, err)
				}
			}
			_ = cache.Close()
		}
		dir := b.TempDir()
		name := query.Pattern
		b.Run(name+"/first", func(b *testing.B) {
			start := processorTime(b)
			for b.Loop() {
				run(nil)
			}
			b.ReportMetric((processorTime(b)-start).Seconds()/float64(b.N), "cpu-s/op")
		})
		b.Run(name+"/kept", func(b *testing.B) {
			run(treefind.NewCache(dir, treefind.CacheOptions{}))
			start := processorTime(b)
			for b.Loop() {
				run(treefind.NewCache(dir, treefind.CacheOptions{}))
			}
			b.ReportMetric((processorTime(b)-start).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}
