package datastore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pbs-like/pbs-like/chunkstore"
)

// survey looks through all chunk directories, as many at a time as there are cores.
//
// Each file is asked for its size and times, also those that are in use and need
// neither to stay: the status of a collection, which others read too, has the
// bytes on disk, and a file of no bytes is to be told. It is a third of the
// survey's time where the inodes are in memory.
func (c *collection) survey(ctx context.Context) error {
	workers := collectors()
	if c.opts.Touch && !c.opts.DryRun {
		workers = 1 // what fails first ends it: in a known order
	}
	surveyors := make([]surveyor, workers)
	var directories atomic.Int64
	err := c.chunks.WalkParallel(ctx, workers, nil, func(worker int, d *chunkstore.Directory) error {
		s := &surveyors[worker]
		s.collection = c
		c.Datastore.opts.Events.progress(Progress{Operation: "survey", Object: c.path, Done: uint64(directories.Add(1)), Total: 1 << 16, Items: true})
		return c.decide(d, s)
	})
	var all surveyor
	for i := range surveyors {
		all.join(&surveyors[i])
	}
	c.take(&all)
	if err != nil {
		return err
	}
	c.report.Missing = c.report.Referenced - all.seen
	if all.using > 0 && all.emptyFiles > 0 {
		return fmt.Errorf("%q holds %d empty chunks and %d marks of chunks in use, as the local cache of an object store does: %w",
			c.path, all.emptyFiles, all.using, ErrNotDatastore)
	}
	return nil
}

// surveyor counts what is in some of the chunk directories.
type surveyor struct {
	*collection
	seen       int // chunks that are marked and there
	emptyFiles int // chunks with no bytes, in use or not
	using      int

	plan                    sweepPlan
	pending                 pendingChunks
	chunks, empty, stillBad int
	bytes                   uint64
}

// join adds what another one found.
func (s *surveyor) join(other *surveyor) {
	s.seen += other.seen
	s.emptyFiles += other.emptyFiles
	s.using += other.using
	s.plan.join(&other.plan)
	s.pending.join(other.pending)
	s.chunks += other.chunks
	s.empty += other.empty
	s.stillBad += other.stillBad
	s.bytes += other.bytes
}

// take puts what was found into the report.
func (c *collection) take(s *surveyor) {
	c.plan = s.plan
	c.pending = s.pending
	r := &c.report
	r.DiskChunks, r.DiskBytes, r.Empty, r.StillBad = s.chunks, s.bytes, s.empty, s.stillBad
}

func (s *surveyor) goes(d *chunkstore.Directory, f chunkstore.File, info chunkstore.FileInfo) error {
	s.note(f, info)
	s.plan.add(d.Number)
	s.plan.totals.add(f.Kind, info.Size)
	return nil
}

func (s *surveyor) stays(d *chunkstore.Directory, f chunkstore.File, info chunkstore.FileInfo, why reason) error {
	s.note(f, info)
	switch {
	case why == notOurs:
		return nil
	case why == tooNew && f.Kind == chunkstore.ChunkFile:
		s.pending.add(info, cutoffOf(s.opts))
		return nil
	case why == tooNew:
		return nil
	}
	s.bytes += uint64(info.Size)
	if f.Kind == chunkstore.BadFile {
		if s.isOld(info.Newest) {
			s.stillBad++
		}
	} else {
		s.chunks++
		if info.Size == 0 {
			s.empty++
		}
	}
	return s.touch(d, f)
}

// note counts what tells a chunk store from something that looks like one.
func (s *surveyor) note(f chunkstore.File, info chunkstore.FileInfo) {
	switch f.Kind {
	case chunkstore.UsingMarker:
		s.using++
	case chunkstore.ChunkFile:
		if info.Regular && info.Size == 0 {
			s.emptyFiles++
		}
		if info.Regular && s.marks.has(f.Digest) {
			s.seen++
		}
	case chunkstore.BadFile, chunkstore.TempFile, chunkstore.OtherFile:
	}
}

// touch is for others who collect this store by the time of access. It comes
// before anything is removed, and where it fails nothing is.
func (s *surveyor) touch(d *chunkstore.Directory, f chunkstore.File) error {
	if !s.opts.Touch || s.opts.DryRun {
		return nil
	}
	return ignoreVanished(d.Touch(f))
}

// pendingChunks are chunks that nothing refers to and that are not old enough to go.
type pendingChunks struct {
	chunks int
	bytes  uint64
	// from is when the first of them is old enough, until when the last is; if nobody uses them meanwhile.
	from, until time.Time
}

func (p *pendingChunks) add(info chunkstore.FileInfo, cutoff time.Duration) {
	old := info.Newest.Add(cutoff)
	p.join(pendingChunks{chunks: 1, bytes: uint64(info.Size), from: old, until: old})
}

func (p *pendingChunks) join(other pendingChunks) {
	if other.chunks == 0 {
		return
	}
	if p.chunks == 0 || other.from.Before(p.from) {
		p.from = other.from
	}
	if p.chunks == 0 || other.until.After(p.until) {
		p.until = other.until
	}
	p.chunks += other.chunks
	p.bytes += other.bytes
}
