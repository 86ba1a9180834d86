package datastore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
)

const (
	// batchSize is how many chunks are put into the order of the disk at once: 6 MiB of memory.
	batchSize = 128 << 10
	// maxReasons bounds the errors that are remembered; beyond it only that there was one.
	maxReasons = 10_000
)

// examiner reads chunks and proves them, each one once in its life.
//
// What an index says of a chunk's size is part of what is proven: an index with a
// wrong one must neither pass for what another index found, nor spoil it. So what
// is remembered goes by digest and size, see remembered.
type examiner struct {
	store   *chunkstore.Store
	rename  bool // put damaged ones aside
	sealed  bool // encrypted ones are what is expected, and can't be proven
	loaders []*chunkstore.Loader
	secret  uint64 // nobody can choose a digest that is remembered like another one of another size
	visited *marks
	stop    func() bool // the time is up
	sample  sample
	skipped int // entries that the sample leaves out
	resume  *resumption
	kind    []byte // what it proves, see proofOf
	resumed *marks // of the visited ones: those that were proven by a run before, and not read
	// resumedEntries are the entries of indexes that are about those.
	resumedEntries int

	mu           sync.Mutex
	lost, unread *marks // of the visited ones
	reasons      map[digest.Digest]error
	renamed      []string
	recovered    []string
	chunks       int
	encrypted    int
	bytes        uint64
}

// job is a chunk to be read.
type job struct {
	digest digest.Digest
	size   int
	inode  uint64
}

func newExaminer(store *chunkstore.Store, rename bool) *examiner {
	e := &examiner{store: store, rename: rename, visited: newMarks(), lost: newMarks(), unread: newMarks(), resumed: newMarks(), reasons: map[digest.Digest]error{}}
	var secret [8]byte
	_, _ = rand.Read(secret[:]) // never fails
	e.secret = binary.BigEndian.Uint64(secret[:])
	// One more than there are cores: somebody always waits for the disk.
	for range runtime.GOMAXPROCS(0) + 1 {
		e.loaders = append(e.loaders, store.NewLoader())
	}
	return e
}

// remembered is the name under which a chunk of this size is remembered.
func (e *examiner) remembered(d digest.Digest, size uint64) digest.Digest {
	half := d[digest.Size/4 : digest.Size/2] // marks know the first half of a digest
	binary.BigEndian.PutUint64(half, binary.BigEndian.Uint64(half)^mix(size^e.secret))
	return d
}

// Close gives the memory back.
func (e *examiner) Close() (err error) {
	for _, loader := range e.loaders {
		err = errors.Join(err, loader.Close())
	}
	e.loaders = nil
	return err
}

// rest gives the memory of the loaders back until they are used again.
func (e *examiner) rest() {
	for _, loader := range e.loaders {
		_ = loader.Close() // it only frees memory
	}
}

// examine reads a batch of chunks in the order of their inodes, which on most
// file systems is about that of the disk. The error is that of ctx,
// or errTimeUp: then some of them were not read.
func (e *examiner) examine(ctx context.Context, batch []job, step func(bytes uint64)) error {
	unread := batch[:0]
	for _, j := range batch {
		if !e.locate(&j, step) {
			unread = append(unread, j)
		}
	}
	batch = unread
	slices.SortFunc(batch, func(a, b job) int { return cmp.Compare(a.inode, b.inode) })
	var next atomic.Int64
	var stopped atomic.Bool
	var workers sync.WaitGroup
	for _, loader := range e.loaders[:min(len(e.loaders), len(batch))] {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(batch) {
					return
				}
				if e.stop() {
					stopped.Store(true)
					return
				}
				e.one(loader, batch[i], step)
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil || !stopped.Load() {
		return err
	}
	return errTimeUp
}

// locate looks up where a chunk is. done says that it need not be read, because a
// verification that was cut off has proven this very file.
func (e *examiner) locate(j *job, step func(bytes uint64)) (done bool) {
	// What can't be looked up is found out when it is read.
	info, err := e.store.Lookup(j.digest)
	j.inode = info.Inode
	if err != nil || !e.proven(*j, info) {
		return false
	}
	e.resumed.add(e.remembered(j.digest, uint64(j.size)))
	step(uint64(j.size))
	return true
}

// one reads one chunk.
func (e *examiner) one(loader *chunkstore.Loader, j job, step func(bytes uint64)) {
	_, err := loader.Load(j.digest, j.size)
	if errors.Is(err, chunkstore.ErrMissing) {
		// It may have been on its way back to its name, see Condemn.
		_, err = loader.Load(j.digest, j.size)
	}
	renamed := ""
	switch {
	case errors.Is(err, chunkstore.ErrCorrupt):
		renamed, err = e.suspect(loader, j, err)
	case errors.Is(err, blob.ErrNeedKey) && !e.sealed:
		// Not put aside: it may be whole. A backup that needs the chunk replaces it.
		err = fmt.Errorf("it is encrypted, and its archive is not: %w: %w", chunkstore.ErrCorrupt, err)
	}
	recovered := ""
	if renamed != "" || errors.Is(err, chunkstore.ErrMissing) {
		recovered, err = e.recover(loader, j, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.note(j, err)
	if err == nil || e.sealed && errors.Is(err, blob.ErrNeedKey) {
		e.remember(j, loader.Info())
	}
	if renamed != "" {
		e.renamed = append(e.renamed, renamed)
	}
	if recovered != "" {
		e.recovered = append(e.recovered, recovered)
	}
	step(uint64(j.size))
}

// recover looks for a good file of a chunk that is gone, which a verification that was
// cut off may have put aside.
func (e *examiner) recover(loader *chunkstore.Loader, j job, first error) (from string, err error) {
	from, err = e.store.Recover(j.digest, loader, e.rename)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w; %q is good, and could not be renamed: %w", first, from, err)
	case from == "":
		return "", first
	case !e.rename:
		return "", fmt.Errorf("%w; %q is good, and a verification that may change something renames it", first, from)
	}
	_, err = loader.Load(j.digest, j.size)
	return from, err
}

// suspect looks at a damaged chunk again. One that is good, and merely not what the
// index says, is not put aside: others may need it.
func (e *examiner) suspect(loader *chunkstore.Loader, j job, first error) (renamed string, err error) {
	switch data, again := loader.Load(j.digest, chunkstore.AnySize); {
	case again == nil && len(data) == j.size:
		return "", nil // somebody has stored it anew
	case again == nil:
		return "", fmt.Errorf("%w, and is good: the index is wrong", first)
	case !errors.Is(again, chunkstore.ErrCorrupt), !e.rename:
		return "", again
	}
	renamed, err = e.store.Condemn(j.digest, loader)
	if err != nil {
		return "", fmt.Errorf("%w; it could not be renamed: %w", first, err)
	}
	return renamed, first
}

// note sorts the result of one chunk. The caller holds the lock.
func (e *examiner) note(j job, err error) {
	e.chunks++
	e.bytes += uint64(j.size)
	name := e.remembered(j.digest, uint64(j.size))
	switch {
	case err == nil:
		return
	case e.sealed && errors.Is(err, blob.ErrNeedKey):
		e.encrypted++
		return
	case errors.Is(err, chunkstore.ErrCorrupt), errors.Is(err, chunkstore.ErrMissing), errors.Is(err, blob.ErrWrongKey):
		e.lost.add(name)
	default:
		e.unread.add(name)
	}
	if len(e.reasons) < maxReasons {
		e.reasons[name] = err
	}
}
