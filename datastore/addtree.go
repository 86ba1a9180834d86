package datastore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// ChangeDetection says in which form a directory tree is stored, and how it is found out what has changed.
type ChangeDetection int

const (
	// ChangeDetectionLegacy reads every file, and stores the tree as one archive (.pxar). Trees of one snapshot that
	// are stored so have a catalog in common.
	ChangeDetectionLegacy ChangeDetection = iota
	// ChangeDetectionData reads every file, and stores the contents (.ppxar) beside the entries (.mpxar).
	ChangeDetectionData
	// ChangeDetectionMetadata stores the same, and does not read a file whose metadata is as it was in the
	// tree of the same name in the base. What that can't notice is told in package reuse. Where there is no
	// such tree, or it is not protected by the same key in the same way, all files are read.
	ChangeDetectionMetadata
)

// String returns "legacy", "data" or "metadata".
func (c ChangeDetection) String() string {
	switch c {
	case ChangeDetectionLegacy:
		return "legacy"
	case ChangeDetectionData:
		return "data"
	case ChangeDetectionMetadata:
		return "metadata"
	}
	return fmt.Sprintf("change detection %d", int(c))
}

// DefaultMaxQueued is how many files are put off at most, as by the original.
const DefaultMaxQueued = 512

// minTreeChunkSize is the smallest average that may be asked for: smaller chunks cost more than they share.
const minTreeChunkSize = 4 << 10

// TreeOptions are how a directory tree is stored.
type TreeOptions struct {
	ChangeDetection ChangeDetection
	// Prelude is what the entries of a tree that is not legacy begin with, such as the JSON of the exclude patterns; nil is nothing.
	Prelude []byte
	// Expected is how many bytes of content there will be, for the progress; 0 is unknown.
	Expected uint64
	// ChunkSize is the average size of chunks in bytes, a power of two from 4 KiB to 4 MiB; 0 is 4 MiB. Other sizes than before share no chunks.
	ChunkSize int
	// MaxQueued is how many files are put off at most in metadata mode, each with its content open; 0 is [DefaultMaxQueued].
	MaxQueued int
	// MaxPadding is how much of the chunks that are reused may be of no use, as a part of 1; 0 is a tenth, less than 0 nothing.
	MaxPadding float64
}

// errTreeOpen refuses what would come in between.
var errTreeOpen = errors.New("a directory tree of this snapshot is being written: finish or close it first")

// BeginTree begins a directory tree as the archive of a name such as "root.pxar", which becomes "root.mpxar" and
// "root.ppxar" where the contents are stored beside the entries. Until the tree is finished or closed,
// nothing else can be added to the snapshot, and no other tree be begun. When ctx ends so does the tree, at its next call.
func (w *SnapshotWriter) BeginTree(ctx context.Context, name backupinfo.ArchiveName, opts TreeOptions) (_ *TreeWriter, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	opts.MaxQueued = cmp.Or(opts.MaxQueued, DefaultMaxQueued)
	opts.ChunkSize = cmp.Or(opts.ChunkSize, streamChunkSize)
	if err := w.admitTree(ctx, name, opts); err != nil {
		return nil, err
	}
	t := &TreeWriter{writer: w, name: name, opts: opts, links: map[string]uint64{}}
	t.ctx, t.end = w.store.lease.bind(ctx)
	if opts.ChangeDetection == ChangeDetectionLegacy {
		err = t.beginLegacy()
	} else {
		err = t.beginSplit()
	}
	if err != nil {
		return nil, t.giveUp(err)
	}
	w.tree = t
	return t, nil
}

// admitTree makes sure that a tree of that name may be added now, in any form: its readers look for all of them.
func (w *SnapshotWriter) admitTree(ctx context.Context, name backupinfo.ArchiveName, opts TreeOptions) error {
	switch {
	case opts.ChangeDetection < ChangeDetectionLegacy || opts.ChangeDetection > ChangeDetectionMetadata:
		return fmt.Errorf("there is no %s", opts.ChangeDetection)
	case opts.MaxQueued < 0:
		return fmt.Errorf("%d entries can't be put off", opts.MaxQueued)
	case opts.ChunkSize < minTreeChunkSize || opts.ChunkSize > streamChunkSize || opts.ChunkSize&(opts.ChunkSize-1) != 0:
		return fmt.Errorf("chunks of %d bytes: the size has to be a power of two from 4 KiB to 4 MiB", opts.ChunkSize)
	case opts.ChangeDetection == ChangeDetectionLegacy && opts.Prelude != nil:
		return errors.New("an archive of version 1 (.pxar) has no prelude")
	}
	base, ok := treeBase(name)
	if !ok || base+treeSuffix != name.File() {
		return fmt.Errorf("archive %q is no directory tree: the name of one ends in .pxar", name.Display())
	}
	for _, suffix := range []string{treeSuffix, entriesSuffix, payloadSuffix} {
		part, err := backupinfo.ParseFileName(base + suffix)
		if err == nil {
			err = w.admit(ctx, part, backupinfo.DynamicIndex)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// part is the name of one of the archives that a tree is in.
func (t *TreeWriter) part(suffix string) (backupinfo.ArchiveName, error) {
	base, _ := treeBase(t.name)
	return backupinfo.ParseFileName(base + suffix)
}

func (t *TreeWriter) beginLegacy() (err error) {
	if err := t.writer.openCatalog(t.ctx); err != nil {
		return err
	}
	if t.contents, err = t.writer.newStream(t.ctx, t.name, t.opts.Expected, t.opts.ChunkSize); err != nil {
		return err
	}
	return nil
}

// beginSplit knows the base's chunks of both archives before the first chunk of any is stored.
func (t *TreeWriter) beginSplit() error {
	entries, err := t.part(entriesSuffix)
	if err != nil {
		return err
	}
	payload, err := t.part(payloadSuffix)
	if err != nil {
		return err
	}
	if t.opts.ChangeDetection == ChangeDetectionMetadata {
		t.openPrevious(entries, payload)
	}
	if t.entries, err = t.writer.openStream(t.ctx, entries, 0); err != nil {
		return err
	}
	t.entries.entry.tally.events = Events{} // the progress is that of the contents
	if t.contents, err = t.writer.newStream(t.ctx, payload, t.opts.Expected, t.opts.ChunkSize); err != nil {
		return err
	}
	return t.entries.startInPlace(t.ctx, t.opts.ChunkSize)
}
