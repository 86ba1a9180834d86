package datastore

import (
	"context"
	"errors"
	"os"
	"path"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// sizer is one run of Sizes. It goes through the snapshots one after the other, and
// hands on what they refer to, in that order.
type sizer struct {
	*Datastore
	root     *os.File
	counters *sizeCounters
	report   SizeReport
	groupOf  []uint32 // of each snapshot
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
	number, _, _ := s.current()
	names, _, err := snapshotFiles(dir)
	if err != nil {
		return s.unread(number, snapshot.Dir(), err)
	}
	for _, name := range names {
		if err := s.file(ctx, dir, name); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := s.unread(number, path.Join(snapshot.Dir(), name), err); err != nil {
				return err
			}
		}
	}
	s.Datastore.opts.Events.progress(Progress{Operation: "measure", Object: s.path, Done: uint64(len(s.groupOf)), Items: true})
	return nil
}

// unread notes what a snapshot's figures lack.
func (s *sizer) unread(snapshot uint32, name string, err error) error {
	if ignoreVanished(err) == nil {
		return nil
	}
	current := &s.report.Snapshots[snapshot]
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
	s.addAll(func(to *Size) { to.Files = addSizes(to.Files, size) })
	if !isIndex(name) {
		if name != backupinfo.ManifestName {
			s.addAll(func(to *Size) { to.Logical = addSizes(to.Logical, size) })
		}
		return nil
	}
	return s.index(ctx, f, stat.Size(), indexKindOf(name))
}

// index counts what an index refers to, also where its header says nothing sound:
// a collection keeps that all the same.
func (s *sizer) index(ctx context.Context, f *os.File, size int64, kind index.Kind) error {
	x, unopened := index.Open(f, size, kind)
	if unopened == nil {
		s.addAll(func(to *Size) { to.Logical = addSizes(to.Logical, x.Size()) })
	}
	number, _, _ := s.current()
	for entries, err := range index.DigestBlocks(ctx, f, size, kind) {
		if err != nil {
			return err
		}
		s.report.References += entries.Len()
		s.counters.hand(number, s.groupOf[number], entries)
	}
	return unopened
}

// finish waits for the counters and takes their figures over.
func (s *sizer) finish() error {
	for _, c := range s.counters.finish() {
		s.report.Total.addTally(c.total)
		for i, t := range c.snapshots {
			s.report.Snapshots[i].addTally(t)
		}
		for i, t := range c.groups {
			s.report.Groups[i].addTally(t)
		}
		for _, failed := range c.failures {
			if err := s.unread(failed.snapshot, s.report.Snapshots[failed.snapshot].Snapshot.Dir(), failed.err); err != nil {
				return err
			}
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
