package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/pxar"
)

// Tree is a directory tree of an open snapshot: a .pxar archive, or a pair of .mpxar and .ppxar. What is
// read of it was proven, as of every [Archive]; what it says is still to be taken with care, see package pxar. It is
// safe for concurrent use.
type Tree struct {
	*pxar.Archive

	name     backupinfo.ArchiveName
	archives []*Archive
}

// The suffixes of the files that a tree may be in.
const (
	treeSuffix    = ".pxar.didx"
	entriesSuffix = ".mpxar.didx"
	payloadSuffix = ".ppxar.didx"
)

// OpenTree opens a directory tree by the name of any of its archives; "root.pxar" is also found where it is the pair "root.mpxar" and
// "root.ppxar". All reading ends when ctx does. The error is [ErrNotFound], [ErrCorrupt] or pxar.ErrCorrupt, or one of
// [SnapshotReader.OpenArchive]. A tree without its payload is opened, with a notice: its contents are pxar.ErrNoPayload.
// It has to be closed before the snapshot.
func (r *SnapshotReader) OpenTree(ctx context.Context, name backupinfo.ArchiveName) (*Tree, error) {
	base, ok := treeBase(name)
	if !ok {
		return nil, &NotFoundError{Kind: "directory tree", Name: r.snapshot.Dir() + "/" + name.Display(), Hint: "one ends in .pxar or .mpxar; " + r.archives()}
	}
	file := base + treeSuffix
	if _, split := r.manifest.File(base + entriesSuffix); split {
		if _, both := r.manifest.File(file); !both || name.File() != file {
			file = base + entriesSuffix
		}
	}
	t := &Tree{}
	if err := t.open(ctx, r, file, base); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func treeBase(name backupinfo.ArchiveName) (base string, ok bool) {
	for _, suffix := range []string{entriesSuffix, payloadSuffix, treeSuffix} {
		if base, ok = strings.CutSuffix(name.File(), suffix); ok {
			return base, true
		}
	}
	return "", false
}

func (t *Tree) open(ctx context.Context, r *SnapshotReader, file, base string) error {
	entries, err := t.part(ctx, r, file)
	if err != nil {
		return err
	}
	t.name = entries.Name()
	var opts pxar.OpenOptions
	if strings.HasSuffix(file, entriesSuffix) {
		if opts, err = t.payload(ctx, r, base+payloadSuffix); err != nil {
			return err
		}
	}
	t.Archive, err = pxar.Open(untilDone{ctx, entries}, int64(entries.Size()), opts)
	if err != nil {
		return fmt.Errorf("archive %q: %w", t.name.Display(), err)
	}
	return nil
}

func (t *Tree) payload(ctx context.Context, r *SnapshotReader, file string) (pxar.OpenOptions, error) {
	payload, err := t.part(ctx, r, file)
	switch {
	case errors.Is(err, ErrNotFound):
		r.store.opts.Events.notice(r.snapshot.Dir(), "the manifest lists no "+file+": names can be read, and no contents", nil)
		return pxar.OpenOptions{}, nil
	case err != nil:
		return pxar.OpenOptions{}, err
	}
	return pxar.OpenOptions{Payload: untilDone{ctx, payload}, PayloadSize: int64(payload.Size())}, nil
}

func (t *Tree) part(ctx context.Context, r *SnapshotReader, file string) (*Archive, error) {
	name, err := backupinfo.ParseFileName(file)
	if err != nil {
		return nil, err
	}
	a, err := r.OpenArchive(ctx, name)
	if err == nil {
		t.archives = append(t.archives, a)
	}
	return a, err
}

// Name is the archive that the entries are in.
func (t *Tree) Name() backupinfo.ArchiveName { return t.name }

// Close frees the tree. A second Close does nothing harmful.
func (t *Tree) Close() error {
	var err error
	for _, a := range t.archives {
		err = errors.Join(err, a.Close())
	}
	t.archives = nil
	return err
}

// untilDone reads until the context ends.
type untilDone struct {
	ctx context.Context //nolint:containedctx // io.ReaderAt has no place for one
	io.ReaderAt
}

func (r untilDone) ReadAt(p []byte, at int64) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.ReaderAt.ReadAt(p, at)
}
