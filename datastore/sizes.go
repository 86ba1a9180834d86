package datastore

import (
	"context"
	"errors"
	"os"
	"path"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/beneath"
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

// Freed is what the removal of it alone would free, after a collection.
func (s Size) Freed() uint64 { return s.Unique + s.Files }

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
// free. It reads all indexes, and asks the file system for the size of each chunk
// once; it reads no chunk, takes no lock and writes nothing. It needs about 60 bytes of
// memory for each distinct chunk.
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
	s := sizer{Datastore: d, root: root, chunks: chunks, uses: map[shortDigest]use{}}
	err = d.eachGroup(ctx, root, groupVisitor{
		group:  func(group backupinfo.Group) error { return s.group(ctx, group) },
		broken: s.broken,
	})
	return s.report, err
}

// shortDigest is enough of a digest to tell chunks apart.
type shortDigest [16]byte

// use is who refers to a chunk. Snapshots are numbers in the report.
type use struct {
	first, last uint32
	size        uint32 // of its file, with the two marks below; no chunk is that large
}

const (
	sharedBySnapshots = 1 << 31
	sharedByGroups    = 1 << 30
	sizeMask          = sharedByGroups - 1
)

// sizer is one run of Sizes. The snapshots of a group come one after the other, and so
// do the references of a snapshot: the last one that referred to a chunk tells whether it was counted.
type sizer struct {
	*Datastore
	root    *os.File
	chunks  *chunkstore.Store
	uses    map[shortDigest]use
	groupOf []uint32 // of each snapshot
	report  SizeReport
}

func (s *sizer) broken(err error) error {
	entry, ok := errors.AsType[*EntryError](err)
	if !ok {
		return err
	}
	s.report.Unread = append(s.report.Unread, entry)
	return nil
}

func (s *sizer) group(ctx context.Context, group backupinfo.Group) error {
	dir, err := openGroup(s.root, group)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return s.broken(&EntryError{Path: group.Dir(), Err: err})
	}
	defer dir.Close()
	times, broken, err := snapshotTimes(dir, group)
	if err != nil {
		return ignoreVanished(s.broken(&EntryError{Path: group.Dir(), Err: err}))
	}
	for _, err := range broken {
		if err := s.broken(err); err != nil {
			return err
		}
	}
	s.report.Groups = append(s.report.Groups, GroupSize{Group: group, Snapshots: len(times)})
	for _, time := range times {
		if err := s.snapshot(ctx, dir, backupinfo.Snapshot{Group: group, Time: time}); err != nil {
			return err
		}
	}
	return nil
}

func (s *sizer) snapshot(ctx context.Context, group *os.File, snapshot backupinfo.Snapshot) error {
	dir, err := beneath.OpenDir(group, snapshot.Time.String())
	if err != nil {
		if ignoreVanished(err) == nil {
			return nil
		}
		return s.broken(&EntryError{Path: snapshot.Dir(), Err: err})
	}
	defer dir.Close()
	s.report.Snapshots = append(s.report.Snapshots, SnapshotSize{Snapshot: snapshot})
	s.groupOf = append(s.groupOf, uint32(len(s.report.Groups)-1))
	names, _, err := snapshotFiles(dir)
	if err != nil {
		return s.unread(snapshot.Dir(), err)
	}
	for _, name := range names {
		if err := s.file(ctx, dir, name); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := s.unread(path.Join(snapshot.Dir(), name), err); err != nil {
				return err
			}
		}
	}
	s.Datastore.opts.Events.progress(Progress{Operation: "measure", Object: s.path, Done: uint64(len(s.groupOf)), Items: true})
	return nil
}

// unread notes what the present snapshot's figures lack.
func (s *sizer) unread(name string, err error) error {
	if ignoreVanished(err) == nil {
		return nil
	}
	current := &s.report.Snapshots[len(s.report.Snapshots)-1]
	entry := &EntryError{Path: name, Err: err}
	current.Err = errors.Join(current.Err, entry)
	return s.broken(entry)
}

func (s *sizer) file(ctx context.Context, dir *os.File, name string) error {
	f, err := beneath.OpenRegular(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	size := uint64(stat.Size())
	s.addAll(func(to *Size) { to.Files += size })
	if !isIndex(name) {
		if name != backupinfo.ManifestName {
			s.addAll(func(to *Size) { to.Logical += size })
		}
		return nil
	}
	kind := indexKindOf(name)
	if x, err := index.Open(f, stat.Size(), kind); err == nil {
		s.addAll(func(to *Size) { to.Logical += x.Size() })
	}
	for d, err := range index.Digests(ctx, f, stat.Size(), kind) {
		if err != nil {
			return err
		}
		if err := s.refer(d); err != nil {
			return err
		}
	}
	return nil
}

// current are the figures of the snapshot and the group that are being read.
func (s *sizer) current() (number uint32, snapshot, group *Size) {
	number = uint32(len(s.report.Snapshots) - 1)
	return number, &s.report.Snapshots[number].Size, &s.report.Groups[s.groupOf[number]].Size
}

func (s *sizer) addAll(add func(*Size)) {
	_, snapshot, group := s.current()
	add(snapshot)
	add(group)
	add(&s.report.Total)
}

// refer counts one reference to a chunk.
func (s *sizer) refer(d digest.Digest) error {
	s.report.References++
	key := shortDigest(d[:])
	u, known := s.uses[key]
	number, snapshot, group := s.current()
	if !known {
		return s.first(key, d, number)
	}
	if u.last == number {
		return nil
	}
	size := uint64(u.size & sizeMask)
	snapshot.count(size)
	if u.size&sharedBySnapshots == 0 {
		s.report.Snapshots[u.first].Unique -= size
	}
	if s.groupOf[u.last] != s.groupOf[number] {
		group.count(size)
		if u.size&sharedByGroups == 0 {
			s.report.Groups[s.groupOf[u.first]].Unique -= size
		}
		u.size |= sharedByGroups
	}
	u.last, u.size = number, u.size|sharedBySnapshots
	s.uses[key] = u
	return nil
}

// count adds a chunk that others refer to as well.
func (s *Size) count(stored uint64) {
	s.Chunks++
	s.Stored += stored
	if stored == 0 {
		s.Missing++
	}
}

// first counts a chunk that nothing referred to yet.
func (s *sizer) first(key shortDigest, d digest.Digest, number uint32) error {
	info, err := s.chunks.Lookup(d)
	if err != nil && !errors.Is(err, chunkstore.ErrMissing) && !errors.Is(err, chunkstore.ErrForeign) {
		return err
	}
	size := uint64(max(0, min(info.Size, sizeMask)))
	s.uses[key] = use{first: number, last: number, size: uint32(size)}
	s.addAll(func(to *Size) {
		to.count(size)
		to.Unique += size
	})
	return nil
}
