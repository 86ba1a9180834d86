package datastore

import (
	"cmp"
	"slices"
	"sync"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/index"
)

// readAhead loads the next chunks of an archive while one is used, by as many goroutines. It keeps a
// few that were used before: reading a tree goes back and forth between neighbours. The archive's lock protects it.
type readAhead struct {
	archive *Archive
	depth   int
	last    int // the number that was taken last
	clock   int
	loads   map[int]*chunkLoad
	spare   []*chunkstore.Loader
	running sync.WaitGroup
}

// chunkLoad is a chunk on its way, or there.
type chunkLoad struct {
	used   int // when, by the clock
	loader *chunkstore.Loader
	done   chan struct{}
	data   []byte
	err    error
}

// keptChunks are those that stay besides the ones ahead.
const keptChunks = 2

// ReadAhead makes reading load up to n chunks ahead, where it goes forward, each in a goroutine and a buffer of its own. It
// is for who is going to read most of an archive.
func (a *Archive) ReadAhead(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loader != nil && a.ahead == nil && n > 0 {
		a.ahead = &readAhead{archive: a, depth: n, last: -1, loads: map[int]*chunkLoad{}}
	}
}

// ReadAhead is that of the archives that the tree is in.
func (t *Tree) ReadAhead(n int) {
	for _, a := range t.archives {
		a.ReadAhead(n)
	}
}

// take gives a chunk, which is good until the next call.
func (r *readAhead) take(number int, chunk index.Chunk) ([]byte, error) {
	r.clock++
	load := r.load(number, chunk)
	if number == r.last+1 {
		for next := number + 1; next <= number+r.depth && next < r.archive.index.Count(); next++ {
			c, err := r.archive.index.Chunk(next)
			if err != nil {
				break // who reads it is told
			}
			r.load(next, c)
		}
	}
	r.last = number
	<-load.done
	load.used = r.clock
	if load.err != nil {
		r.drop(number) // the next try may have more luck
	}
	return load.data, load.err
}

// load finds a chunk, or starts loading it.
func (r *readAhead) load(number int, chunk index.Chunk) *chunkLoad {
	if load, ok := r.loads[number]; ok {
		load.used = r.clock
		return load
	}
	r.makeRoom()
	load := &chunkLoad{used: r.clock, loader: r.loader(), done: make(chan struct{})}
	r.loads[number] = load
	r.running.Go(func() {
		defer close(load.done)
		load.data, load.err = r.archive.loadChunk(load.loader, chunk)
	})
	return load
}

// makeRoom drops what was not used for the longest time.
func (r *readAhead) makeRoom() {
	if len(r.loads) < r.depth+keptChunks {
		return
	}
	numbers := make([]int, 0, len(r.loads))
	for number := range r.loads {
		numbers = append(numbers, number)
	}
	r.drop(slices.MinFunc(numbers, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.loads[a].used, r.loads[b].used), cmp.Compare(a, b))
	}))
}

func (r *readAhead) drop(number int) {
	load := r.loads[number]
	<-load.done
	r.spare = append(r.spare, load.loader)
	delete(r.loads, number)
}

func (r *readAhead) loader() *chunkstore.Loader {
	if n := len(r.spare); n > 0 {
		l := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return l
	}
	return r.archive.reader.chunks.NewLoader()
}

// close waits for what is on its way.
func (r *readAhead) close() (err error) {
	r.running.Wait()
	for number := range r.loads {
		r.drop(number)
	}
	for _, l := range r.spare {
		err = cmp.Or(err, l.Close())
	}
	r.spare = nil
	return err
}
