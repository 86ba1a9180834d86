package datastore

import (
	"fmt"
	"path"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// BlockerKind says what kind of thing stands against a collection.
type BlockerKind string

// The kinds of blocker.
const (
	BlockerIndex      BlockerKind = "index-damaged"    // an index of which not all can be read
	BlockerUnfinished BlockerKind = "index-unfinished" // the same in a snapshot without a manifest, whose writer is unknown
	BlockerLink       BlockerKind = "symbolic-link"    // that may lead to an index
	BlockerWrongType  BlockerKind = "wrong-type"       // no file, in the place of an index
)

// Blocker is something that may hide references to chunks, so that none can go.
type Blocker struct { //nolint:errname // it is an item of a report first
	Kind BlockerKind
	// Path is relative to the store.
	Path string
	// Snapshot is the one that the path is in, nil outside of any.
	Snapshot *backupinfo.Snapshot
	Err      error
}

func (b Blocker) Error() string { return fmt.Sprintf("%q: %v", b.Path, b.Err) }

// Unwrap gives the cause.
func (b Blocker) Unwrap() error { return b.Err }

func (c *collection) block(b Blocker) {
	if snapshot, err := backupinfo.ParseSnapshotDir(path.Dir(b.Path)); err == nil {
		b.Snapshot = &snapshot
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Blocked = append(c.report.Blocked, b)
}

// damaged decides whether an index that can't be read whole stands against the collection.
func (c *collection) damaged(name string, damage error) error {
	dir := path.Dir(name)
	if _, err := backupinfo.ParseSnapshotDir(dir); err != nil {
		c.block(Blocker{Kind: BlockerIndex, Path: name, Err: damage})
		return nil //nolint:nilerr // it is in no snapshot
	}
	finished, err := exists(c.root, path.Join(dir, backupinfo.ManifestName))
	if err != nil {
		return err
	}
	ours, err := exists(c.root, path.Join(dir, writerMark))
	switch {
	case err != nil:
		return err
	case finished:
		c.block(Blocker{Kind: BlockerIndex, Path: name, Err: damage})
	case ours:
		// Our writers hold the datastore's lock until there is a manifest: this one is
		// dead, and was never done. Of a server's, that it has no manifest is all that is known.
		c.Datastore.opts.Events.notice(name, "damaged index of a backup that was cut off: nobody can restore it, and it holds nothing up", damage)
	default:
		c.block(Blocker{Kind: BlockerUnfinished, Path: name, Err: damage})
	}
	return nil
}

// manifestHas tells whether the manifest beside an index lists it with a checksum.
func (c *collection) manifestHas(name string, checksum digest.Digest) bool {
	dir, err := beneath.OpenDir(c.root, path.Dir(name))
	if err != nil {
		return false
	}
	defer dir.Close()
	reader := newManifestReader()
	defer reader.Close()
	manifest, _, err := reader.read(dir)
	if err != nil {
		return false
	}
	for _, file := range manifest.Files() {
		if file.Name == path.Base(name) {
			return file.Checksum == checksum
		}
	}
	return false
}

// blocked is the error of a collection that removes nothing.
func (c *collection) blocked() error {
	if len(c.report.Blocked) == 0 {
		return nil
	}
	first := c.report.Blocked[0]
	if n := len(c.report.Blocked); n > 1 {
		return fmt.Errorf("nothing was removed, because of %w, and of %d more like that: %w", first, n-1, ErrCorrupt)
	}
	return fmt.Errorf("nothing was removed, because of %w: %w", first, ErrCorrupt)
}
