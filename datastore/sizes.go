package datastore

import (
	"context"
	"errors"
	"math"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
)

// Size is how large something is, in bytes.
type Size struct {
	// Logical is what a restore writes: the sum of what the indexes describe, and the blobs as stored.
	Logical uint64
	// Chunks is the number of distinct chunks, and Stored what they take on disk.
	Chunks int
	Stored uint64
	// Unique is the part of Stored that nothing else in the store refers to.
	Unique uint64
	// Files is what indexes, blobs and the manifest take.
	Files uint64
	// Missing is how many chunks are not there, or have no bytes.
	Missing int
}

// Shared is the part of Stored that others refer to as well.
func (s Size) Shared() uint64 { return s.Stored - s.Unique }

// addSizes adds sizes of which a damaged file may say anything. What is too large for
// a number is the largest one: a sum that starts again at zero would look small.
func addSizes(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxUint64
}

// Freed is what the removal of it alone would free, after a collection.
func (s Size) Freed() uint64 { return addSizes(s.Unique, s.Files) }

// SnapshotSize is the size of one snapshot.
type SnapshotSize struct {
	Snapshot backupinfo.Snapshot
	Size
	// Err is what could not be read of it, and is in no figure.
	Err error
}

// GroupSize is the size of a group: all of its snapshots together. What several of
// them share counts once, and is unique where no other group refers to it.
type GroupSize struct {
	Group     backupinfo.Group
	Snapshots int
	Size
}

// SizeReport are the sizes of everything in a store.
type SizeReport struct {
	// Snapshots and Groups are in the order of the listings. Unfinished snapshots are among them.
	Snapshots []SnapshotSize
	Groups    []GroupSize
	// Total is the store as a whole: all that something refers to.
	Total Size
	// References is the number of entries of all indexes.
	References int
	// Unread is what could not be read. Where it is not empty, what counts as unique may be shared with it.
	Unread []*EntryError
}

// Sizes computes what each snapshot and each group takes, and what its removal would
// free. It asks the file system for the size of each chunk once, and then reads all
// indexes; it reads no chunk, takes no lock and writes nothing. It needs 25 bytes of
// memory for each chunk in the store, and about 100 for each that is missing.
//
// Indexes outside of snapshots, which [Datastore.Check] names, are in no figure,
// though a collection keeps what they refer to.
func (d *Datastore) Sizes(ctx context.Context) (report SizeReport, err error) {
	root, err := d.openRoot()
	if err != nil {
		return report, err
	}
	defer root.Close()
	chunks, err := chunkstore.Open(root, chunkstore.Options{})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, chunks.Close()) }()
	table := newSizeTable(chunks)
	if err := d.fillSizes(ctx, table); err != nil {
		return report, err
	}
	s := sizer{Datastore: d, root: root, counters: startCounters(table)}
	err = d.eachGroup(ctx, root, groupVisitor{
		group:  func(group backupinfo.Group) error { return s.group(ctx, group) },
		broken: s.broken,
	})
	return s.report, errors.Join(err, s.finish())
}
