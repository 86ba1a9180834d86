package datastore

import (
	"sync"
	"time"

	"github.com/pbs-like/pbs-like/digest"
)

// ArchiveStats is what storing one archive came to.
type ArchiveStats struct {
	// Name is the file's name in the snapshot.
	Name string
	// Size is in bytes, of the data itself.
	Size uint64
	// Chunks is the number of chunks that the archive consists of, 0 for a blob.
	// Each is either reused or written.
	Chunks, ReusedChunks, WrittenChunks int
	// ReusedBytes is how many bytes of the data the store had already.
	ReusedBytes uint64
	// WrittenBytes is what was added to the store, in bytes as stored.
	WrittenBytes uint64
	Duration     time.Duration
}

// uploadStats are the sums over a snapshot's archives that the original keeps in the manifest.
type uploadStats struct {
	CompressedSize uint64 `json:"compressed_size"`
	Count          int    `json:"count"`
	Duplicates     int    `json:"duplicates"`
	Size           uint64 `json:"size"`
}

func (u *uploadStats) add(s ArchiveStats) {
	u.CompressedSize += s.WrittenBytes
	u.Count += s.Chunks
	u.Duplicates += s.ReusedChunks
	u.Size += s.Size
}

// tally counts the chunks of an archive in their order and tells of the progress.
type tally struct {
	mu       sync.Mutex
	stats    ArchiveStats
	started  time.Time
	progress Progress
	events   Events
}

// piece is one chunk after it was stored.
type piece struct {
	digest  digest.Digest
	size    int
	reused  bool
	written int64 // bytes as stored
}

func (t *tally) add(p piece) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Chunks++
	t.stats.Size += uint64(p.size)
	if p.reused {
		t.stats.ReusedChunks++
		t.stats.ReusedBytes += uint64(p.size)
	} else {
		t.stats.WrittenChunks++
		t.stats.WrittenBytes += uint64(p.written)
	}
	t.progress.Done, t.progress.Reused = t.stats.Size, t.stats.ReusedBytes
	t.events.progress(t.progress)
}

// file counts a file of a directory tree. It is told with the next chunk: there may be millions.
func (t *tally) file() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Files++
}

func (t *tally) finish() ArchiveStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Duration = time.Since(t.started)
	return t.stats
}
