package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/keys"
)

// Archive is one archive of an open snapshot. Everything that is read of it was
// proven: chunks against their digests, the index and blobs against the
// manifest. It is safe for concurrent use.
type Archive struct {
	reader *SnapshotReader
	name   backupinfo.ArchiveName
	// encrypted says that the manifest names it so: its chunks have the names of the key's.
	encrypted bool
	file      *os.File
	index     *index.Reader // nil for a blob
	data      []byte        // of a blob
	// damage is what is wrong with the index as a whole; nothing is read then, but for a salvage.
	damage error

	mu     sync.Mutex
	loader *chunkstore.Loader
	number int        // of the chunk that was read last
	chunk  []byte     // and its data
	ahead  *readAhead // nil if one chunk is loaded at a time

	// for LoadChunk
	zeros   zeroDigests
	spareMu sync.Mutex
	spare   []*chunkstore.Loader
	closed  bool
}

// OpenArchive opens an archive of the snapshot. One that is not there is
// [ErrNotFound]; an encrypted one is a *keys.MissingKeyError without a key
// (blob.ErrNeedKey), and blob.ErrWrongKey with another one. The archive has to be
// closed before the snapshot.
func (r *SnapshotReader) OpenArchive(ctx context.Context, name backupinfo.ArchiveName) (*Archive, error) {
	entry, listed := r.manifest.File(name.File())
	if !listed && name.File() != backupinfo.ClientLogName && !name.IsManifest() {
		return nil, &NotFoundError{Kind: "archive", Name: r.snapshot.Dir() + "/" + name.Display(), Hint: r.archives()}
	}
	if listed && entry.CryptMode == backupinfo.CryptEncrypt && name.Kind() != backupinfo.Blob && r.key == nil {
		return nil, fmt.Errorf("archive %q is encrypted: %w", name.Display(), r.missingKey())
	}
	file, err := beneath.OpenRegular(r.dir, name.File())
	if errors.Is(err, fs.ErrNotExist) && listed {
		return nil, fmt.Errorf("archive %q is listed and its file is missing: %w: %w", name.Display(), ErrCorrupt, err)
	}
	if err != nil {
		err = corruptIf(err, beneath.ErrNotRegular, beneath.ErrSymlink)
		return nil, notFound(err, "archive", r.snapshot.Dir()+"/"+name.Display())
	}
	a := &Archive{reader: r, name: name, file: file, number: -1, encrypted: entry.CryptMode == backupinfo.CryptEncrypt}
	if name.Kind() == backupinfo.Blob {
		err = a.openBlob(entry, listed)
	} else {
		err = a.openIndex(ctx, entry)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("archive %q: %w", name.Display(), err), file.Close())
	}
	return a, nil
}

// archives names what there is, for who asked for something else.
func (r *SnapshotReader) archives() string {
	names := make([]string, 0, len(r.files))
	for _, file := range r.manifest.Files() {
		names = append(names, file.Name)
	}
	return "there is " + strings.Join(names, ", ")
}

func (a *Archive) openIndex(ctx context.Context, entry backupinfo.File) error {
	stat, err := a.file.Stat()
	if err != nil {
		return err
	}
	a.index, err = index.Open(a.file, stat.Size(), indexKind(a.name.Kind()))
	if err != nil {
		return corruptIf(err, index.ErrCorrupt, index.ErrWrongKind)
	}
	if a.index.Size() > math.MaxInt64 {
		return fmt.Errorf("index describes %d bytes: %w", a.index.Size(), ErrCorrupt)
	}
	checksum, err := a.index.ComputeChecksum(ctx)
	if err != nil {
		return err
	}
	switch {
	case checksum != entry.Checksum:
		a.damage = fmt.Errorf("archive %q: its index has another checksum than the manifest says: %w", a.name.Display(), ErrCorrupt)
	case a.index.Size() != entry.Size:
		a.damage = fmt.Errorf("archive %q: its index describes %d bytes, the manifest %d: %w", a.name.Display(), a.index.Size(), entry.Size, ErrCorrupt)
	}
	a.loader = a.reader.chunks.NewLoader()
	if a.encrypted {
		a.zeros.key = a.reader.key
	}
	return nil
}

func (a *Archive) openBlob(entry backupinfo.File, listed bool) error {
	const largest = blob.EncryptedHeaderSize + blob.MaxSize
	stored, err := io.ReadAll(io.LimitReader(a.file, largest+1))
	if err != nil {
		return err
	}
	if len(stored) > largest {
		return fmt.Errorf("blob is larger than %d bytes: %w", largest, ErrCorrupt)
	}
	if listed && (uint64(len(stored)) != entry.Size || digest.Of(stored) != entry.Checksum) {
		return fmt.Errorf("blob is not the one that the manifest lists: %w", ErrCorrupt)
	}
	decoder := blob.NewDecoder()
	defer decoder.Close()
	a.data, err = decoder.DecodeWithKey(nil, stored, blob.MaxSize, aeadOf(a.reader.key))
	if errors.Is(err, blob.ErrNeedKey) {
		return fmt.Errorf("encrypted: %w", a.reader.missingKey())
	}
	return corruptIf(err, blob.ErrCorrupt, blob.ErrTooLarge)
}

// missingKey names the key that would be needed, as far as the manifest tells.
func (r *SnapshotReader) missingKey() error {
	missing := &keys.MissingKeyError{}
	if named, err := namedKey(r.manifest); err == nil && named != nil {
		missing.Fingerprint = *named
	}
	return missing
}

// corruptIf makes a lower package's class of damage this package's own.
func corruptIf(err error, classes ...error) error {
	for _, class := range classes {
		if errors.Is(err, class) {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return err
}

// Close frees the archive. A second Close does nothing harmful.
func (a *Archive) Close() error {
	a.closeSpare()
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	if a.ahead != nil {
		err = a.ahead.close()
		a.ahead = nil
	}
	if a.loader != nil {
		err = errors.Join(err, a.loader.Close())
		a.loader = nil
	}
	if a.file != nil {
		err = errors.Join(err, a.file.Close())
		a.file = nil
	}
	return err
}

// Name is the archive's name.
func (a *Archive) Name() backupinfo.ArchiveName { return a.name }

// Size is the size of the data in bytes.
func (a *Archive) Size() uint64 {
	if a.index == nil {
		return uint64(len(a.data))
	}
	return a.index.Size()
}

// ReadAt reads at any offset, see [io.ReaderAt]. A chunk that is damaged or
// missing is [ErrCorrupt].
func (a *Archive) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, fmt.Errorf("archive %q: negative offset %d", a.name.Display(), offset)
	}
	if a.damage != nil {
		return 0, a.damage
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return 0, fs.ErrClosed
	}
	for n < len(p) {
		if uint64(offset)+uint64(n) >= a.Size() || offset > math.MaxInt64-int64(n) {
			return n, io.EOF
		}
		piece, err := a.from(uint64(offset) + uint64(n))
		if err != nil {
			return n, err
		}
		n += copy(p[n:], piece)
	}
	return n, nil
}

// from gives the data from an offset to the end of its chunk.
func (a *Archive) from(offset uint64) ([]byte, error) {
	if a.index == nil {
		return a.data[offset:], nil
	}
	number, err := a.index.ChunkAt(offset)
	if err != nil {
		return nil, corruptIf(err, index.ErrCorrupt)
	}
	chunk, err := a.index.Chunk(number)
	if err != nil {
		return nil, corruptIf(err, index.ErrCorrupt)
	}
	if number != a.number {
		a.number = -1 // the buffer is about to be written to
		if a.ahead != nil {
			a.chunk, err = a.ahead.take(number, chunk)
		} else {
			a.chunk, err = a.loadChunk(a.loader, chunk)
		}
		if err != nil {
			return nil, err
		}
		a.number = number
	}
	return a.chunk[offset-chunk.Start:], nil
}

// loadChunk loads and proves a chunk. The data is good until the loader is used again.
func (a *Archive) loadChunk(loader *chunkstore.Loader, chunk index.Chunk) ([]byte, error) {
	data, err := loader.Load(chunk.Digest, int(chunk.Size()))
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, blob.ErrWrongKey) && a.reader.signature == SignatureOK:
		// The key is the one that the manifest, and with it the index, was signed with.
		return nil, corruptIf(err, blob.ErrWrongKey)
	}
	return nil, corruptIf(err, chunkstore.ErrCorrupt, chunkstore.ErrMissing, chunkstore.ErrForeign)
}
