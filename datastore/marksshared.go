package datastore

import (
	"sync"

	"github.com/pbs-like/pbs-like/digest"
)

const (
	markShards = 16
	// markBatch is how many marks a writer collects before it takes a lock: 256 KiB for all shards.
	markBatch = 1024
)

// sharedMarks are marks that several goroutines add to, each through a writer of
// its own. They are shared out over several sets, by bits of the digest.
type sharedMarks struct {
	shards [markShards]struct {
		mu    sync.Mutex
		marks *marks
	}
}

func newSharedMarks() *sharedMarks {
	m := &sharedMarks{}
	for i := range m.shards {
		m.shards[i].marks = newMarks()
	}
	return m
}

func shardOf(d *digest.Digest) int { return int(d[digest.Size-1]) % markShards }

// has tells whether a chunk is in the set. No writer may be at work.
func (m *sharedMarks) has(d digest.Digest) bool { return m.shards[shardOf(&d)].marks.has(d) }

// see is that of [marks]. Only one goroutine may see at a time.
func (m *sharedMarks) see(d digest.Digest) (found, first bool) {
	return m.shards[shardOf(&d)].marks.see(d)
}

// seen tells whether a chunk is in the set, and was seen.
func (m *sharedMarks) seen(d digest.Digest) (found, seen bool) {
	return m.shards[shardOf(&d)].marks.seen(d)
}

// count is how many chunks there are in the set.
func (m *sharedMarks) count() (n int) {
	for i := range m.shards {
		n += m.shards[i].marks.count
	}
	return n
}

// markWriter adds to shared marks. What it was given is there after flush.
type markWriter struct {
	to    *sharedMarks
	lens  [markShards]int
	batch [markShards][markBatch]mark
}

func (m *sharedMarks) writer() *markWriter { return &markWriter{to: m} }

func (w *markWriter) add(d digest.Digest) {
	shard := shardOf(&d)
	n := w.lens[shard]
	w.batch[shard][n] = markOf(d)
	w.lens[shard] = n + 1
	if n+1 == markBatch {
		w.empty(shard)
	}
}

func (w *markWriter) empty(shard int) {
	to := &w.to.shards[shard]
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, k := range w.batch[shard][:w.lens[shard]] {
		to.marks.put(k)
	}
	w.lens[shard] = 0
}

func (w *markWriter) flush() {
	for shard := range markShards {
		w.empty(shard)
	}
}
