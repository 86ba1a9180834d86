package datastore

import (
	"sync"
	"sync/atomic"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

// sizeCounters count references on several goroutines. Each has the chunk
// directories whose number it gets as a remainder, and sees all references in the same order:
// those of a snapshot, and of a group, come one after the other, and so the last
// one that referred to a chunk tells whether it was counted.
type sizeCounters struct {
	counters []*sizeCounter
	free     chan *referenceBlock
	group    sync.WaitGroup
}

// referenceBlock is a part of an index, which all counters read.
type referenceBlock struct {
	snapshot, group uint32
	digests         []digest.Digest
	readers         atomic.Int32
}

// sizeCounter is one of them. Chunks that are not in the table are few.
type sizeCounter struct {
	number, of uint16
	work       chan *referenceBlock
	table      *sizeTable
	missing    map[digest.Digest]*missingChunk
	groupOf    []uint32
	snapshots  []sizeTally
	groups     []sizeTally
	total      sizeTally
	failures   []sizeFailure
}

// missingChunk was not there when the table was filled. err is why it could not be asked for again.
type missingChunk struct {
	chunkUse
	err error
}

// sizeTally is what a counter adds to a [Size].
type sizeTally struct {
	chunks, missing int
	stored, unique  uint64
}

// sizeFailure is a chunk that could not be looked up, the first of its snapshot.
type sizeFailure struct {
	snapshot uint32
	err      error
}

func startCounters(table *sizeTable) *sizeCounters {
	s := &sizeCounters{}
	workers := collectors()
	s.free = make(chan *referenceBlock, 4*workers)
	for range cap(s.free) {
		s.free <- &referenceBlock{}
	}
	for i := range workers {
		c := &sizeCounter{
			number: uint16(i), of: uint16(workers), table: table, missing: map[digest.Digest]*missingChunk{},
			work: make(chan *referenceBlock, cap(s.free)), // so that handing on waits for free blocks only
		}
		s.counters = append(s.counters, c)
		s.group.Go(func() { c.run(s.free) })
	}
	return s
}

// hand passes references of one snapshot on.
func (s *sizeCounters) hand(snapshot, group uint32, entries index.Entries) {
	block := <-s.free
	block.snapshot, block.group, block.digests = snapshot, group, block.digests[:0]
	for i := range entries.Len() {
		block.digests = append(block.digests, entries.Digest(i))
	}
	block.readers.Store(int32(len(s.counters)))
	for _, c := range s.counters {
		c.work <- block
	}
}

// finish waits until all was counted.
func (s *sizeCounters) finish() []*sizeCounter {
	for _, c := range s.counters {
		close(c.work)
	}
	s.group.Wait()
	return s.counters
}

func (c *sizeCounter) run(free chan<- *referenceBlock) {
	for block := range c.work {
		c.grow(block)
		for i := range block.digests {
			if d := &block.digests[i]; partOf(d)%c.of == c.number {
				c.refer(d, block.snapshot, block.group)
			}
		}
		if block.readers.Add(-1) == 0 {
			free <- block
		}
	}
}

// grow makes room for the figures of a snapshot. Those before it may have had no index.
func (c *sizeCounter) grow(block *referenceBlock) {
	for len(c.snapshots) <= int(block.snapshot) {
		c.snapshots = append(c.snapshots, sizeTally{})
		c.groupOf = append(c.groupOf, block.group)
	}
	for len(c.groups) <= int(block.group) {
		c.groups = append(c.groups, sizeTally{})
	}
}

// refer counts one reference to a chunk.
func (c *sizeCounter) refer(d *digest.Digest, snapshot, group uint32) {
	u := c.use(d, snapshot)
	if u == nil || u.last == snapshot {
		return
	}
	size := uint64(u.size & sizeMask)
	c.snapshots[snapshot].count(size)
	switch {
	case u.first == noSnapshot:
		c.first(u, snapshot, group)
		return
	case u.size&sharedBySnapshots == 0:
		c.snapshots[u.first].unique -= size
	}
	if c.groupOf[u.last] != group {
		c.groups[group].count(size)
		if u.size&sharedByGroups == 0 {
			c.groups[c.groupOf[u.first]].unique -= size
		}
		u.size |= sharedByGroups
	}
	u.last, u.size = snapshot, u.size|sharedBySnapshots
}

// first counts a chunk that nothing referred to yet.
func (c *sizeCounter) first(u *chunkUse, snapshot, group uint32) {
	size := uint64(u.size)
	u.first, u.last = snapshot, snapshot
	c.groups[group].count(size)
	c.total.count(size)
	c.snapshots[snapshot].unique += size
	c.groups[group].unique += size
	c.total.unique += size
}

// use finds a chunk, or asks for it. It is nil for one that could not be asked for.
func (c *sizeCounter) use(d *digest.Digest, snapshot uint32) *chunkUse {
	if u := c.table.find(d); u != nil {
		return u
	}
	m, known := c.missing[*d]
	if !known {
		use, err := c.table.lookUp(*d)
		m = &missingChunk{use, err}
		c.missing[*d] = m
	}
	if m.err == nil {
		return &m.chunkUse
	}
	if n := len(c.failures); n == 0 || c.failures[n-1].snapshot != snapshot {
		c.failures = append(c.failures, sizeFailure{snapshot, m.err})
	}
	return nil
}

func (t *sizeTally) count(stored uint64) {
	t.chunks++
	t.stored += stored
	if stored == 0 {
		t.missing++
	}
}

func (s *Size) addTally(t sizeTally) {
	s.Chunks += t.chunks
	s.Missing += t.missing
	s.Stored += t.stored
	s.Unique += t.unique
}
