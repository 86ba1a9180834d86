package datastore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// errDone is what a writer answers after Commit or Close.
var errDone = errors.New("the snapshot is committed or closed already")

// Commit finishes the snapshot: everything written so far is synced to disk,
// then the manifest appears, synced too. It always releases the locks. After nil
// the snapshot is durable and listed as finished; after an error it is gone,
// just as if it had been closed.
func (w *SnapshotWriter) Commit(ctx context.Context) (SnapshotInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return SnapshotInfo{}, errDone
	}
	w.done = true
	if err := w.commit(ctx); err != nil {
		return SnapshotInfo{}, errors.Join(err, w.abort(ctx))
	}
	if err := w.disk.Remove(w.dir, writerMark); err != nil {
		w.store.opts.Events.notice(w.snapshot.Dir(), "the mark of the writer is left behind", err)
	}
	// From here on the backup is done, and nothing may call it failed.
	info := w.result()
	if err := w.release(); err != nil {
		w.store.opts.Events.notice(w.snapshot.Dir(), "what the backup held open could not be closed", err)
	}
	return info, nil
}

func (w *SnapshotWriter) commit(ctx context.Context) error {
	if err := errors.Join(ctx.Err(), w.failed); err != nil {
		return err
	}
	if w.tree != nil {
		return errTreeOpen
	}
	if err := w.finishCatalog(ctx); err != nil {
		return err
	}
	if len(w.manifest.Files()) == 0 {
		return fmt.Errorf("snapshot %q would have no archive", w.snapshot.Dir())
	}
	if err := w.completeManifest(); err != nil {
		return err
	}
	stored, err := encodeManifest(w.manifest)
	if err != nil {
		return err
	}
	if err := w.syncAll(); err != nil {
		return err
	}
	if err := w.stillThere(); err != nil {
		return err
	}
	return w.disk.WriteFile(w.dir, backupinfo.ManifestName, stored, fileMode)
}

// completeManifest adds what is known now, the signature last.
func (w *SnapshotWriter) completeManifest() error {
	if w.keyCopy != nil {
		if err := w.addKeyCopy(); err != nil {
			return err
		}
	}
	if err := w.manifest.SetUnprotected("chunk_upload_stats", w.upload); err != nil || w.crypt.key == nil {
		return err
	}
	return sign(w.manifest, w.crypt.key)
}

// syncAll syncs every file system that the backup wrote to: the chunks, or the
// group, may lie on a disk of their own.
func (w *SnapshotWriter) syncAll() error {
	if err := w.disk.SyncFS(w.root); err != nil {
		return err
	}
	root, err := identityOf(w.root)
	if err != nil {
		return err
	}
	own, err := identityOf(w.dir)
	if err != nil {
		return err
	}
	if own.dev != root.dev {
		if err := w.disk.SyncFS(w.dir); err != nil {
			return err
		}
	}
	chunks, err := beneath.Stat(w.root, chunkDirName)
	if err != nil || chunks.Dev == root.dev {
		return err
	}
	return w.chunks.Sync()
}

// stillThere makes sure that nobody took the snapshot, its group or its base away
// by hand, past all locks. Chunks that only a vanished base referred to may be
// gone by now.
func (w *SnapshotWriter) stillThere() error {
	if err := leadsTo(w.root, w.snapshot.Group.Dir(), w.group.File()); err != nil {
		return takenAway("group", w.snapshot.Group.Dir(), err)
	}
	if err := leadsTo(w.root, w.snapshot.Dir(), w.guard.File()); err != nil {
		return takenAway("snapshot", w.snapshot.Dir(), err)
	}
	if err := w.stillOurs(); err != nil {
		return takenAway("snapshot", w.snapshot.Dir(), err)
	}
	if w.base == nil {
		return nil
	}
	if err := w.base.check(w.root); err != nil {
		return takenAway("base", w.base.snapshot.Dir(), err)
	}
	return nil
}

// stillOurs makes sure, where locks can be lost, that the snapshot is of this very acquisition.
func (w *SnapshotWriter) stillOurs() error {
	if !w.locks.isShared() {
		return nil
	}
	mark, err := readBounded(w.dir, writerMark, int64(len(w.ours)))
	if err == nil && !bytes.Equal(mark, w.ours) {
		err = flock.ErrChanged
	}
	return err
}

// takenAway says that what was locked is no longer there: somebody removed it
// past the locks.
func takenAway(what, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = flock.ErrChanged
	}
	return fmt.Errorf("%s %q was taken away during the backup: %w", what, name, err)
}

func encodeManifest(manifest *backupinfo.Manifest) ([]byte, error) {
	text, err := manifest.Marshal()
	if err != nil {
		return nil, err
	}
	encoder := blob.NewEncoder()
	defer encoder.Close()
	return encoder.Encode(nil, text)
}

// result reads what is on the disk now. What goes wrong with that is part of the
// answer, and no failure of the backup.
func (w *SnapshotWriter) result() SnapshotInfo {
	manifests := newManifestReader()
	defer manifests.Close()
	info, err := manifests.snapshot(w.groupDir, w.snapshot)
	info.Finished = true
	info.Owner, _ = readOwner(w.groupDir)
	info.Err = errors.Join(info.Err, err)
	return info
}

// Close gives the snapshot up: what was made of it is removed, and the group too
// if it was new. Chunks stay for the next collection. After Commit, a second
// time, or of nil, it does nothing.
func (w *SnapshotWriter) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil
	}
	w.done = true
	return w.abort(context.Background())
}

// abort removes what was made, and only then releases the locks.
func (w *SnapshotWriter) abort(ctx context.Context) error {
	if w.tree != nil {
		_ = w.tree.giveUp(errDone)
	}
	if w.catalog != nil {
		_ = w.catalog.stream.giveUp(errDone)
	}
	return errors.Join(w.undo(context.WithoutCancel(ctx)), w.release())
}

// undo removes the snapshot and the group as far as this backup made them. The locks stay.
func (w *SnapshotWriter) undo(ctx context.Context) error {
	var err error
	if w.guard != nil && leadsTo(w.root, w.snapshot.Dir(), w.guard.File()) == nil {
		err = w.removeUnfinished(ctx)
	}
	if w.newGroup {
		_, tidy := removeEmptyGroup(ctx, w.disk, w.root, w.snapshot.Group)
		if !errors.Is(tidy, ErrNotFound) {
			err = errors.Join(err, tidy)
		}
	}
	w.guard, w.newGroup = nil, false
	return err
}

// removeUnfinished takes the half-made snapshot away. On a disk so full that not
// even a rename finds room, its files are unlinked where they are: without a
// manifest it is offered to nobody.
func (w *SnapshotWriter) removeUnfinished(ctx context.Context) error {
	var report RemovalReport
	err := removeSnapshot(ctx, w.disk, w.root, w.snapshot, nil, &report)
	if err == nil || errors.Is(err, ErrNotFound) || len(report.Snapshots) > 0 {
		return ignoreNotFound(err)
	}
	finished, look := exists(w.root, path.Join(w.snapshot.Dir(), backupinfo.ManifestName))
	if finished || look != nil {
		return errors.Join(err, look)
	}
	group, open := beneath.OpenDir(w.root, w.snapshot.Group.Dir())
	if open != nil {
		return errors.Join(err, open)
	}
	defer group.Close()
	return w.disk.RemoveTree(ctx, group, w.snapshot.Time.String())
}

func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// release lets go of everything the writer holds.
func (w *SnapshotWriter) release() error {
	err := errors.Join(w.crew.Close(), w.locks.Close())
	if w.chunks != nil {
		err = errors.Join(err, w.chunks.Close())
	}
	if w.root != nil {
		err = errors.Join(err, w.root.Close())
	}
	return err
}
