package mount

import (
	"container/list"
	"context"
	"runtime"
	"sync"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
)

// cache remembers the data of chunks, up to a number of bytes. Who asks for a chunk that is
// being loaded waits for it instead of loading it too.
type cache struct {
	limit int64
	slots chan struct{} // one for each load that may go on

	mu      sync.Mutex
	used    int64
	entries map[chunkKey]*list.Element
	recent  *list.List // of *cached, the last used first
	loading map[chunkKey]*load
}

// chunkKey is a chunk in whatever archive: the same name and size is the same data.
type chunkKey struct {
	digest digest.Digest
	size   uint64
}

type cached struct {
	key  chunkKey
	data []byte
}

type load struct {
	done chan struct{}
	data []byte
	err  error
}

func newCache(limit int64) *cache {
	return &cache{
		limit: limit, slots: make(chan struct{}, runtime.GOMAXPROCS(0)+1),
		entries: map[chunkKey]*list.Element{}, recent: list.New(), loading: map[chunkKey]*load{},
	}
}

func keyOf(c datastore.ArchiveChunk) chunkKey { return chunkKey{c.Digest, c.End - c.Start} }

// get gives the data of a chunk, which must not be written to. Where ctx ends while it is
// being loaded, the call returns, and the load goes on for others. use keeps the archive open meanwhile.
func (c *cache) get(ctx context.Context, a *openArchive, chunk datastore.ArchiveChunk) ([]byte, error) {
	data, l := c.find(chunk, a, true)
	if l == nil {
		return data, nil
	}
	select {
	case <-l.done:
		return l.data, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// prefetch begins to load a chunk, if nothing else is waiting for its turn.
func (c *cache) prefetch(a *openArchive, chunk datastore.ArchiveChunk) {
	if len(c.slots) < cap(c.slots) {
		c.find(chunk, a, false)
	}
}

// find gives the data of a chunk that is there, or the load that will give it.
func (c *cache) find(chunk datastore.ArchiveChunk, a *openArchive, used bool) ([]byte, *load) {
	key := keyOf(chunk)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		if used {
			c.recent.MoveToFront(e)
		}
		return e.Value.(*cached).data, nil
	}
	l := c.loading[key]
	if l == nil {
		l = &load{done: make(chan struct{})}
		c.loading[key] = l
		a.lease.hold()
		go c.load(l, a, chunk)
	}
	return nil, l
}

func (c *cache) load(l *load, a *openArchive, chunk datastore.ArchiveChunk) {
	defer a.lease.release(0)
	c.slots <- struct{}{}
	l.data, l.err = a.archive.LoadChunk(chunk)
	<-c.slots
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loading, keyOf(chunk))
	if l.err == nil {
		c.put(keyOf(chunk), l.data)
	}
	close(l.done)
}

func (c *cache) put(key chunkKey, data []byte) {
	c.entries[key] = c.recent.PushFront(&cached{key, data})
	c.used += int64(len(data))
	for c.used > c.limit && c.recent.Len() > 1 {
		oldest := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.entries, oldest.key)
		c.used -= int64(len(oldest.data))
	}
}

// clear forgets everything, for nobody uses anything.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.used = map[chunkKey]*list.Element{}, 0
	c.recent.Init()
}
