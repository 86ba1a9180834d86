package dirstore_test

import (
	"sync"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

// BenchmarkUncontended: the recheck delay of 10 ms is in it.
func BenchmarkUncontended(b *testing.B) {
	s := open(b, b.TempDir(), dirstore.Options{})
	for b.Loop() {
		g, err := storelock.Acquire(b.Context(), s, storelock.Options{Exclusive: true, Timeout: time.Minute})
		must(b, err)
		must(b, g.Close())
	}
}

// BenchmarkContended has 32 who each hold the lock for 10 ms, once: 320 ms are
// what no lock could do without.
func BenchmarkContended(b *testing.B) {
	for b.Loop() {
		s := open(b, b.TempDir(), dirstore.Options{})
		var wait sync.WaitGroup
		for range 32 {
			wait.Go(func() {
				g, err := storelock.Acquire(b.Context(), s, storelock.Options{Exclusive: true, Timeout: time.Minute})
				if err != nil {
					b.Error(err)
					return
				}
				time.Sleep(10 * time.Millisecond)
				if err := g.Close(); err != nil {
					b.Error(err)
				}
			})
		}
		wait.Wait()
	}
}

// BenchmarkFairness reports Jain's index of the turns that 32 get in a while: 1 is
// equal, 1/32 is one for all.
func BenchmarkFairness(b *testing.B) {
	for b.Loop() {
		s := open(b, b.TempDir(), dirstore.Options{})
		var turns [32]float64
		end := time.Now().Add(5 * time.Second)
		var wait sync.WaitGroup
		for n := range turns {
			wait.Go(func() {
				for time.Now().Before(end) {
					g, err := storelock.Acquire(b.Context(), s, storelock.Options{Exclusive: true, Timeout: time.Minute})
					if err != nil {
						b.Error(err)
						return
					}
					turns[n]++
					time.Sleep(time.Millisecond)
					if err := g.Close(); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wait.Wait()
		var sum, squares float64
		for _, n := range turns {
			sum += n
			squares += n * n
		}
		b.ReportMetric(sum*sum/squares/float64(len(turns)), "jain")
		b.ReportMetric(sum/5, "turns/s")
	}
}
