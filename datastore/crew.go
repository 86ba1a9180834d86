package datastore

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/keys"
)

// crew are the workers of a backup. Their buffers and coders live as long as the
// backup and are used again for every chunk: touching fresh memory costs more
// than hashing what is in it.
type crew struct {
	chunks  *chunkstore.Store
	crypt   crypt
	known   known
	workers []*worker
	buffers [][]byte // of the ring for streams
	zeros   zeroDigests

	proving sync.Mutex // chunks of unknown origin are rare: one loader does for all
	loader  *chunkstore.Loader
}

// worker is what one goroutine needs to store chunks.
type worker struct {
	crew    *crew
	buffer  []byte // for the data of a chunk, where the worker reads it itself
	stored  []byte
	encoder *blob.Encoder
}

func newCrew(chunks *chunkstore.Store, protection crypt) *crew {
	c := &crew{chunks: chunks, crypt: protection, zeros: zeroDigests{key: protection.dataKey()}, loader: chunks.NewLoader()}
	for range crewSize() {
		c.workers = append(c.workers, &worker{crew: c, encoder: blob.NewEncoder()})
	}
	return c
}

// maxCrew bounds the workers of an operation, whose buffers are most of its memory:
// with more of them it would no longer be less than 64 MiB.
const maxCrew = 4

// crewSize is one more than there are cores: somebody always waits for the disk.
func crewSize() int { return min(runtime.GOMAXPROCS(0)+2, maxCrew) }

// Close frees the coders.
func (c *crew) Close() error {
	if c == nil {
		return nil
	}
	err := c.loader.Close()
	for _, w := range c.workers {
		err = errors.Join(err, w.encoder.Close())
	}
	c.workers, c.buffers = nil, nil
	return err
}

// space gives the worker's own buffer of a size.
func (w *worker) space(size int) []byte {
	w.buffer = room(w.buffer, size)
	return w.buffer[:size]
}

// store brings one chunk into the store, unless it is there.
func (w *worker) store(ctx context.Context, data []byte) (piece, error) {
	p := piece{size: len(data)}
	if isZero(data) {
		p.digest = w.crew.zeros.of(len(data))
	} else {
		p.digest = digestUnder(w.crew.crypt.dataKey(), data)
	}
	var err error
	if p.reused, err = w.reuse(p.digest); p.reused || err != nil {
		return p, err
	}
	w.stored = room(w.stored, len(data)+encodingSlack)
	defer func() { trim(w.stored) }()
	if w.stored, err = w.crew.crypt.encode(w.encoder, w.stored[:0], data); err != nil {
		return p, err
	}
	result, err := w.crew.chunks.Insert(ctx, p.digest, w.stored)
	if err != nil {
		return p, err
	}
	p.reused, p.written = !result.Written, result.Size
	w.crew.known.add(p.digest)
	return p, nil
}

// reuse tells whether the store has the chunk. One that no finished backup
// vouches for is read and proven first: a writer that crashed may have left it
// cut short.
func (w *worker) reuse(d digest.Digest) (bool, error) {
	if w.crew.known.has(d) {
		return w.crew.chunks.Reuse(d)
	}
	reused, err := w.crew.reuseProven(d)
	if reused {
		w.crew.known.add(d)
	}
	return reused, err
}

func (c *crew) reuseProven(d digest.Digest) (bool, error) {
	c.proving.Lock()
	defer c.proving.Unlock()
	return c.chunks.ReuseVerified(d, c.loader)
}

// isZero compares the data with itself, eight bytes on: that runs at the speed of
// memory and needs no block of zeros to compare with.
func isZero(data []byte) bool {
	const step = 8
	if len(data) < 2*step {
		return allZero(data)
	}
	return allZero(data[:step]) && string(data[step:]) == string(data[:len(data)-step])
}

func allZero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}

// zeroDigests are the digests of chunks of zeros, by size: images are full of them.
type zeroDigests struct {
	key *keys.Key // under which the chunks are encrypted, nil where they are not

	mu   sync.Mutex
	size int
	last digest.Digest
}

// of gives the digest of that many zeros. It is worked out again for every size that is not the last one's.
func (z *zeroDigests) of(size int) digest.Digest {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.size != size {
		z.size, z.last = size, zeroDigest(z.key, size)
	}
	return z.last
}

func zeroDigest(key *keys.Key, size int) (d digest.Digest) {
	if key != nil {
		hash := key.NewHasher()
		writeZeros(hash, size)
		return hash.Digest()
	}
	hash := sha256.New()
	writeZeros(hash, size)
	hash.Sum(d[:0])
	return d
}

// writeZeros writes to a hash, which never fails.
func writeZeros(hash io.Writer, size int) {
	var block [64 << 10]byte
	for size > 0 {
		n := min(size, len(block))
		_, _ = hash.Write(block[:n])
		size -= n
	}
}
