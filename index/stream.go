package index

import (
	"context"
	"crypto/sha256"
	"io"
	"iter"

	"github.com/pbs-like/pbs-like/digest"
)

// streamEntries is how many entries a walk over the whole index reads at once.
const streamEntries = 2048

// Chunks walks over all chunks in order, with one sequential read of the file.
// It stops after the first error, which is one of Chunk or the context's.
func (x *Reader) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		size := x.kind.entrySize()
		start, i := uint64(0), 0
		for b, err := range blocks(ctx, x.r, x.count, size) {
			if err != nil {
				yield(Chunk{}, err)
				return
			}
			for ; len(b) > 0; b = b[size:] {
				c, err := x.chunk(i, start, b)
				if !yield(c, err) || err != nil {
					return
				}
				start, i = c.End, i+1
			}
		}
	}
}

// Digests walks over the digests of all entries in order, repeated ones too,
// without a look at the offsets. It stops after the first error, which is one of
// the io.ReaderAt or the context's.
func (x *Reader) Digests(ctx context.Context) iter.Seq2[digest.Digest, error] {
	return digests(ctx, x.r, x.count, x.kind)
}

// Digests walks over the digests of all whole entries of an index that Open may
// refuse: the magic must be right, and nothing else. It is for collections: a
// chunk that some index names stays, however damaged that index is. Without a
// valid header, the only answer is an error that unwraps to ErrCorrupt.
func Digests(ctx context.Context, r io.ReaderAt, fileSize int64, kind Kind) iter.Seq2[digest.Digest, error] {
	return func(yield func(digest.Digest, error) bool) {
		for entries, err := range DigestBlocks(ctx, r, fileSize, kind) {
			if err != nil {
				yield(digest.Digest{}, err)
				return
			}
			for i := range entries.Len() {
				if !yield(entries.Digest(i), nil) {
					return
				}
			}
		}
	}
}

// Entries is a piece of an index. It is good until the next one comes.
type Entries struct {
	b    []byte
	size int
}

// Len returns how many entries there are.
func (e Entries) Len() int { return len(e.b) / e.size }

// Digest returns the digest of one of them.
func (e Entries) Digest(i int) digest.Digest { return digest.Digest(e.b[(i+1)*e.size-digest.Size:]) }

// Bytes returns the entries as they are in the file. The checksum of an index is the
// SHA-256 of all of them, one piece after the other.
func (e Entries) Bytes() []byte { return e.b }

// DigestBlocks is [Digests] in pieces, for those who have millions to go through.
func DigestBlocks(ctx context.Context, r io.ReaderAt, fileSize int64, kind Kind) iter.Seq2[Entries, error] {
	return func(yield func(Entries, error) bool) {
		if _, err := readHeader(r, fileSize, kind); err != nil {
			yield(Entries{size: 1}, err)
			return
		}
		size := kind.entrySize()
		for b, err := range blocks(ctx, r, int((fileSize-HeaderSize)/int64(size)), size) {
			if !yield(Entries{b, size}, err) || err != nil {
				return
			}
		}
	}
}

func digests(ctx context.Context, r io.ReaderAt, count int, kind Kind) iter.Seq2[digest.Digest, error] {
	return func(yield func(digest.Digest, error) bool) {
		size := kind.entrySize()
		for b, err := range blocks(ctx, r, count, size) {
			if err != nil {
				yield(digest.Digest{}, err)
				return
			}
			for ; len(b) > 0; b = b[size:] {
				if !yield(digest.Digest(b[size-digest.Size:]), nil) {
					return
				}
			}
		}
	}
}

// ComputeChecksum returns the checksum of the entries as they are. It is equal to
// Checksum in an index without damage. The error is one of the io.ReaderAt or the
// context's.
func (x *Reader) ComputeChecksum(ctx context.Context) (digest.Digest, error) {
	hash := sha256.New()
	for b, err := range blocks(ctx, x.r, x.count, x.kind.entrySize()) {
		if err != nil {
			return digest.Digest{}, err
		}
		hash.Write(b)
	}
	return digest.Digest(hash.Sum(nil)), nil
}

// blocks reads the entries a block at a time into one buffer, and stops after the
// first error.
func blocks(ctx context.Context, r io.ReaderAt, count, size int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf := make([]byte, min(count, streamEntries)*size)
		for first := 0; first < count; first += streamEntries {
			b := buf[:min(count-first, streamEntries)*size]
			err := ctx.Err()
			if err == nil {
				err = readFull(r, b, HeaderSize+int64(first)*int64(size))
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}
