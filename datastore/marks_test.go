package datastore

import (
	"encoding/binary"
	"runtime"
	"sync"
	"testing"

	"github.com/pbs-like/pbs-like/digest"
)

func numbered(n int) digest.Digest {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	return digest.Of(b[:])
}

func TestMarksHoldWhatWasAddedAndNothingElse(t *testing.T) {
	t.Parallel()
	const count = 100_000
	m := newMarks()
	for i := range count {
		if !m.add(numbered(i)) {
			t.Fatalf("%d was there before", i)
		}
	}
	for i := range count {
		if m.add(numbered(i)) || !m.has(numbered(i)) {
			t.Fatalf("%d is lost", i)
		}
		if m.has(numbered(count + i)) {
			t.Fatalf("%d was never added", count+i)
		}
	}
	if m.count != count {
		t.Errorf("%d marks", m.count)
	}
}

func TestMarksRememberWhatWasSeen(t *testing.T) {
	t.Parallel()
	m := newMarks()
	for i := range 1000 {
		m.add(numbered(i))
		if found, first := m.see(numbered(i)); !found || !first {
			t.Fatalf("%d: %v, %v", i, found, first)
		}
	}
	for i := range 1000 {
		if found, first := m.see(numbered(i)); !found || first {
			t.Fatalf("%d again: %v, %v", i, found, first)
		}
	}
	if found, first := m.see(numbered(1000)); found || first || m.count != 1000 {
		t.Errorf("%v, %v, %d", found, first, m.count)
	}
}

// TestMarksOfDigestsThatNobodyHashed adds what a crafted index could name.
func TestMarksOfDigestsThatNobodyHashed(t *testing.T) {
	t.Parallel()
	m := newMarks()
	for i := range 20_000 {
		var low, high digest.Digest
		binary.BigEndian.PutUint64(low[8:], uint64(i)<<2)
		binary.BigEndian.PutUint64(high[:], uint64(i)<<40)
		m.add(low)
		m.add(high)
		if !m.has(low) || !m.has(high) {
			t.Fatal(i)
		}
	}
	if m.count != 2*20_000-1 || m.depth > 20 { // the two zeros are one
		t.Errorf("%d marks, depth %d", m.count, m.depth)
	}
}

func TestFiveMillionMarksNeedLessThan200MiB(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := newSharedMarks()
	w := m.writer()
	var d digest.Digest
	for i := range uint64(5_000_000) {
		// Any spread does: hashing so often would take longer than the rest.
		binary.BigEndian.PutUint64(d[:], i*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(d[8:], i*0xbf58476d1ce4e5b9)
		d[digest.Size-1] = d[0]
		w.add(d)
	}
	w.flush()
	runtime.ReadMemStats(&after)
	if used := (after.HeapSys - before.HeapSys) >> 20; used > 200 {
		t.Errorf("%d MiB", used)
	}
	live := (after.HeapAlloc - before.HeapAlloc)
	t.Logf("%d MiB live, %.1f bytes a chunk", live>>20, float64(live)/float64(m.count()))
	runtime.KeepAlive(m)
}

func BenchmarkMarks(b *testing.B) {
	m := newMarks()
	digests := make([]digest.Digest, 50_000)
	for i := range digests {
		digests[i] = numbered(i)
	}
	i := 0
	for b.Loop() {
		m.add(digests[i%len(digests)])
		i++
	}
}

// TestSharedMarksHoldWhatSeveralAdded adds the same from several goroutines, in other orders.
func TestSharedMarksHoldWhatSeveralAdded(t *testing.T) {
	t.Parallel()
	const count, writers = 30_000, 4
	m := newSharedMarks()
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			w := m.writer()
			defer w.flush()
			for i := range count {
				w.add(numbered((i + n*count/writers) % count))
			}
		})
	}
	group.Wait()
	if m.count() != count {
		t.Errorf("%d marks", m.count())
	}
	for i := range count {
		if !m.has(numbered(i)) || m.has(numbered(count+i)) {
			t.Fatal(i)
		}
	}
	if found, seen := m.seen(numbered(7)); !found || seen {
		t.Error("seen by nobody")
	}
	if found, first := m.see(numbered(7)); !found || !first {
		t.Error("not seen")
	}
	if found, seen := m.seen(numbered(7)); !found || !seen {
		t.Error("forgotten")
	}
}
