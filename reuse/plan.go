package reuse

import (
	"iter"

	"github.com/pbs-like/pbs-like/index"
)

// Plan says what becomes of a row of files.
type Plan struct {
	// Before is a chunk that was held back and goes into the payload first, or nil.
	Before *Chunk
	// Reuse says that the chunks of Inject stand for the files; otherwise they have to be read again.
	Reuse bool
	// Ratio is the part of the chunks' Total bytes that is Padding. Chunks counts one that is held back, too.
	Ratio          float64
	Padding, Total uint64
	Chunks         int
	// Missing says that the files are read again because a chunk is not there any more, and Err that the index could not be read.
	Missing bool
	Err     error

	index      *index.Reader
	first, end int    // the chunks to inject; of an index
	start      uint64 // where the first of them begins in the previous payload
	head, tail Chunk
}

// Place gives where a content is in the new payload that was at an offset of the previous one,
// where position is how long the new payload is before the chunks of Inject.
func (p *Plan) Place(offset, position uint64) uint64 { return position + offset - p.start }

// Inject gives the chunks that go into the payload when the files' places are written. An error ends them.
func (p *Plan) Inject() iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if p.Reuse {
			p.all()(yield)
		}
	}
}

func (p *Plan) all() iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for i := p.first; i < p.end; i++ {
			c, err := p.index.Chunk(i)
			if !yield(p.padded(i, c), err) || err != nil {
				return
			}
		}
	}
}

func (p *Plan) padded(i int, c index.Chunk) Chunk {
	switch i {
	case p.first:
		return p.head
	case p.first + p.Chunks - 1:
		return p.tail
	}
	return Chunk{Chunk: c}
}
