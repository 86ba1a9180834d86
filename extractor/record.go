package extractor

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
)

// record knows which files of the archive this run has restored, for the hard links that lead to them. Files come
// in the order of the archive, so that a slice will do.
type record struct {
	seed maphash.Seed

	mu     sync.Mutex
	moved  *sync.Cond
	files  []recorded
	failed map[uint64]bool
	going  map[uint64]bool   // not done yet
	copies map[uint64]string // paths of files that were restored in the place of links
}

type recorded struct{ position, path uint64 }

func newRecord() *record {
	r := &record{seed: maphash.MakeSeed(), failed: map[uint64]bool{}, going: map[uint64]bool{}, copies: map[uint64]string{}}
	r.moved = sync.NewCond(&r.mu)
	return r
}

// begin notes that a file is about to be restored.
func (r *record) begin(position uint64, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, recorded{position, maphash.String(r.seed, path)})
	r.going[position] = true
}

// copy notes that a link is about to be restored as a file, which further links lead to.
func (r *record) copy(position uint64, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copies[position] = path
	r.going[position] = true
}

// end notes that it is done, whether it failed or not.
func (r *record) end(position uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.going, position)
	r.moved.Broadcast()
}

func (r *record) fail(position uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[position] = true
	delete(r.copies, position)
}

// find waits until the file at the position is done. It gives the path under which it was restored, if it was; named tells that the file is there under another path
// than the link says.
func (r *record) find(position uint64, path string) (restored string, named bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.going[position] {
		r.moved.Wait()
	}
	if there, ok := r.copies[position]; ok {
		return there, false
	}
	i, found := slices.BinarySearchFunc(r.files, position, func(f recorded, at uint64) int { return cmp.Compare(f.position, at) })
	switch {
	case !found:
		return "", false
	case r.files[i].path != maphash.String(r.seed, path):
		return "", true
	case r.failed[position]:
		return "", false
	}
	return path, false
}
