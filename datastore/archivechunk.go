package datastore

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

// ArchiveChunk is a piece of an archive that is read and proven as a whole.
type ArchiveChunk struct {
	// Start and End are bytes of the archive; the end is exclusive.
	Start, End uint64
	// Digest is its name. Chunks of the same name and size have the same data, in whatever archive.
	Digest digest.Digest
}

// ChunkAt finds the chunk that holds the byte at an offset, io.EOF behind the end. An archive
// that is no image and no stream has none, which is [ErrNotFound].
func (a *Archive) ChunkAt(offset uint64) (ArchiveChunk, error) {
	switch {
	case a.index == nil:
		return ArchiveChunk{}, &NotFoundError{Kind: "chunk", Name: a.name.Display(), Hint: "it is one blob"}
	case a.damage != nil:
		return ArchiveChunk{}, a.damage
	case offset >= a.index.Size():
		return ArchiveChunk{}, io.EOF
	}
	number, err := a.index.ChunkAt(offset)
	if err != nil {
		return ArchiveChunk{}, a.indexError(err)
	}
	chunk, err := a.index.Chunk(number)
	if err != nil {
		return ArchiveChunk{}, a.indexError(err)
	}
	return ArchiveChunk{Start: chunk.Start, End: chunk.End, Digest: chunk.Digest}, nil
}

func (a *Archive) indexError(err error) error {
	return fmt.Errorf("archive %q: %w", a.name.Display(), corruptIf(err, index.ErrCorrupt))
}

// LoadChunk reads and proves a chunk that [Archive.ChunkAt] gave. The data is the
// caller's. Unlike reads with [Archive.ReadAt], several go on at the same time. A
// chunk that is damaged or missing is [ErrCorrupt].
func (a *Archive) LoadChunk(c ArchiveChunk) ([]byte, error) {
	if a.isZeros(c) {
		return make([]byte, c.End-c.Start), nil
	}
	loader, err := a.borrow()
	if err != nil {
		return nil, err
	}
	defer a.giveBack(loader)
	data, err := a.loadChunk(loader, index.Chunk{Digest: c.Digest, Start: c.Start, End: c.End})
	if err != nil {
		return nil, fmt.Errorf("archive %q: bytes %d to %d: %w", a.name.Display(), c.Start, c.End, err)
	}
	return append([]byte(nil), data...), nil
}

// isZeros knows the most frequent chunk of images by its name.
func (a *Archive) isZeros(c ArchiveChunk) bool {
	size := c.End - c.Start
	return a.index.Kind() == index.Fixed && size == a.index.ChunkSize() && size <= maxZeros && a.zeros.of(int(size)) == c.Digest
}

// maxZeros is the largest size for which it is worth while to work out what zeros hash to.
const maxZeros = index.MaxChunkSize

// spareLoaders is how many loaders an archive keeps, each with the memory of a chunk or two.
const spareLoaders = 2

func (a *Archive) borrow() (*chunkstore.Loader, error) {
	a.spareMu.Lock()
	defer a.spareMu.Unlock()
	if a.closed {
		return nil, fs.ErrClosed
	}
	if n := len(a.spare); n > 0 {
		loader := a.spare[n-1]
		a.spare = a.spare[:n-1]
		return loader, nil
	}
	return a.reader.chunks.NewLoader(), nil
}

func (a *Archive) giveBack(loader *chunkstore.Loader) {
	a.spareMu.Lock()
	defer a.spareMu.Unlock()
	if a.closed || len(a.spare) == spareLoaders {
		_ = loader.Close() // it only frees memory
		return
	}
	a.spare = append(a.spare, loader)
}

// closeSpare frees the loaders.
func (a *Archive) closeSpare() {
	a.spareMu.Lock()
	defer a.spareMu.Unlock()
	for _, loader := range a.spare {
		_ = loader.Close() // it only frees memory
	}
	a.spare, a.closed = nil, true
}
