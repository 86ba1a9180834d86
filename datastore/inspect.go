package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

// BlobInspection is what a file that should be a blob turns out to be. A chunk is a blob too.
type BlobInspection struct {
	// FileSize is the size of the file in bytes.
	FileSize int64
	// Header is the blob's, where HeaderErr is nil; else there is nothing more.
	Header    blob.Header
	HeaderErr error
	// CRCErr is nil where the CRC of the payload is that of the header.
	CRCErr error
	// Data is the decoded content, and Digest its SHA-256, which is what an unencrypted
	// chunk is called. DecodeErr says why there is none: blob.ErrNeedKey for an encrypted one.
	Data      []byte
	Digest    digest.Digest
	DecodeErr error
}

// Err is what is damaged about the blob, or nil. That it can't be decoded without a key is no damage.
func (b BlobInspection) Err() error {
	err := errors.Join(b.HeaderErr, b.CRCErr)
	if err == nil && b.DecodeErr != nil && !errors.Is(b.DecodeErr, blob.ErrNeedKey) {
		err = b.DecodeErr
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}

// InspectBlob reads a file that is, or should be, a blob, wherever it lies. The error is one of
// reading it; what is wrong with its content is in the inspection.
func InspectBlob(name string) (b BlobInspection, err error) {
	f, size, err := openLoose(name)
	if err != nil {
		return b, err
	}
	defer f.Close()
	b.FileSize = size
	if size > blob.MaxSize+blob.EncryptedHeaderSize {
		b.HeaderErr = fmt.Errorf("%w: %d bytes are more than any blob has", blob.ErrCorrupt, size)
		return b, nil
	}
	stored := make([]byte, size)
	if _, err := io.ReadFull(f, stored); err != nil {
		return b, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	if b.Header, b.HeaderErr = blob.ParseHeader(stored); b.HeaderErr != nil {
		return b, nil
	}
	b.CRCErr = blob.VerifyCRC(stored)
	decoder := blob.NewDecoder()
	defer decoder.Close()
	if b.Data, b.DecodeErr = decoder.Decode(nil, stored, blob.MaxSize); b.DecodeErr == nil {
		b.Digest = digest.Of(b.Data)
	}
	return b, nil
}

// IndexInspection is what a file that should be an index turns out to be.
type IndexInspection struct {
	FileSize int64
	Kind     index.Kind
	UUID     [16]byte
	// Created is in seconds since 1970.
	Created int64
	// Size is what it describes, in bytes; ChunkSize is 0 for a dynamic index.
	Size, ChunkSize uint64
	// Count is the number of entries, Distinct that of different chunks.
	Count, Distinct int
	// Stored is the checksum in the header, Computed that of the entries.
	Stored, Computed digest.Digest
	// Missing is how many of the distinct chunks are not in the store, or empty there; -1 where nobody looked.
	Missing int
	// Damage is what is wrong with it. What stands behind that is not filled in.
	Damage error
}

// Err is what is damaged about the index, or nil.
func (x IndexInspection) Err() error {
	switch {
	case x.Damage != nil:
		return fmt.Errorf("%w: %w", ErrCorrupt, x.Damage)
	case x.Stored != x.Computed:
		return fmt.Errorf("the entries have the checksum %s, the header says %s: %w", x.Computed, x.Stored, ErrCorrupt)
	case x.Missing > 0:
		return fmt.Errorf("%d of %d chunks are missing: %w", x.Missing, x.Distinct, ErrCorrupt)
	}
	return nil
}

// IndexEntry is one entry of an index that is inspected.
type IndexEntry struct {
	Number int
	// Chunk is where it is and what it is called. Of an index whose offsets are damaged only the digest is known.
	Chunk index.Chunk
	// Missing says that the store does not have it, or has it empty.
	Missing bool
}

// InspectIndexOptions are how an index is inspected.
type InspectIndexOptions struct {
	// Store is where its chunks are looked for; nil looks nowhere.
	Store *Datastore
	// Each is called with each entry, as far as they can be read.
	Each func(IndexEntry) error
}

// InspectIndex reads a file that is, or should be, an index, wherever it lies. The error is
// one of reading it, or of Each; what is wrong with its content is in the inspection.
func InspectIndex(ctx context.Context, name string, opts InspectIndexOptions) (x IndexInspection, err error) {
	f, size, err := openLoose(name)
	if err != nil {
		return x, err
	}
	defer f.Close()
	x.FileSize, x.Missing = size, -1
	i := indexInspector{opts: opts, file: f, seen: map[shortDigest]bool{}, found: &x}
	if opts.Store != nil {
		x.Missing = 0
		if i.chunks, err = opts.Store.openChunks(); err != nil {
			return x, err
		}
		defer i.closeChunks()
	}
	return x, i.run(ctx)
}

// shortDigest is enough of a digest to tell chunks apart.
type shortDigest [16]byte

type indexInspector struct {
	opts   InspectIndexOptions
	file   *os.File
	chunks *looseChunks
	seen   map[shortDigest]bool // and whether it is missing
	found  *IndexInspection
}

func (i *indexInspector) run(ctx context.Context) error {
	x, err := i.open()
	if err != nil {
		i.found.Damage = err
		if !errors.Is(err, index.ErrCorrupt) {
			return err
		}
		return i.digests(ctx)
	}
	i.found.UUID, i.found.Created, i.found.Size, i.found.ChunkSize = x.UUID(), x.Created(), x.Size(), x.ChunkSize()
	i.found.Stored = x.Checksum()
	if i.found.Computed, err = x.ComputeChecksum(ctx); err != nil {
		return err
	}
	for chunk, err := range x.Chunks(ctx) {
		if errors.Is(err, index.ErrCorrupt) {
			i.found.Damage = err
			i.found.Count, i.found.Distinct = 0, 0
			return i.digests(ctx)
		}
		if err == nil {
			err = i.entry(chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open tries both kinds: the file may have any name.
func (i *indexInspector) open() (*index.Reader, error) {
	x, err := index.Open(i.file, i.found.FileSize, index.Fixed)
	if errors.Is(err, index.ErrWrongKind) {
		i.found.Kind = index.Dynamic
		x, err = index.Open(i.file, i.found.FileSize, index.Dynamic)
	}
	return x, err
}

// digests reads what whole entries a damaged index has.
func (i *indexInspector) digests(ctx context.Context) error {
	for d, err := range index.Digests(ctx, i.file, i.found.FileSize, i.found.Kind) {
		if errors.Is(err, index.ErrCorrupt) {
			return nil
		}
		if err == nil {
			err = i.entry(index.Chunk{Digest: d})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (i *indexInspector) entry(chunk index.Chunk) error {
	key := shortDigest(chunk.Digest[:])
	missing, known := i.seen[key]
	if !known {
		if i.chunks != nil {
			info, err := i.chunks.store.Lookup(chunk.Digest)
			if err != nil && !errors.Is(err, chunkstore.ErrMissing) && !errors.Is(err, chunkstore.ErrForeign) {
				return err
			}
			if missing = info.Size == 0; missing {
				i.found.Missing++
			}
		}
		i.seen[key] = missing
		i.found.Distinct++
	}
	number := i.found.Count
	i.found.Count++
	if i.opts.Each == nil {
		return nil
	}
	return i.opts.Each(IndexEntry{Number: number, Chunk: chunk, Missing: missing})
}

// looseChunks are the chunks of a store, opened for looking them up.
type looseChunks struct {
	root  *os.File
	store *chunkstore.Store
}

func (d *Datastore) openChunks() (*looseChunks, error) {
	root, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	store, err := chunkstore.Open(root, chunkstore.Options{})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &looseChunks{root: root, store: store}, nil
}

func (i *indexInspector) closeChunks() {
	_, _ = i.chunks.store.Close(), i.chunks.root.Close() // they were only read
}

// openLoose opens a file that the user named, anywhere. It follows links, and never waits for a pipe.
func openLoose(name string) (*os.File, int64, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	stat, err := f.Stat()
	if err == nil && !stat.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("is no regular file")}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, stat.Size(), nil
}
