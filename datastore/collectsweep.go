package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// The chunk directories are gone through twice. The survey looks at everything and
// changes nothing, so that whatever speaks against a collection is known before
// the first chunk goes, and a dry run knows what a real one knows. Of what may go
// it remembers only the directories, one bit for each. The sweep reads those again.

// sweepPlan remembers the directories in which something is to be removed.
type sweepPlan struct {
	directories [1 << 16 / 64]uint64
	totals      sweepTotals
}

func (p *sweepPlan) add(number int)      { p.directories[number/64] |= 1 << (number % 64) }
func (p *sweepPlan) has(number int) bool { return p.directories[number/64]>>(number%64)&1 != 0 }

// sweepTotals is what goes, or has gone.
type sweepTotals struct {
	chunks, bad, temp int
	bytes, chunkBytes uint64
}

func (t *sweepTotals) add(kind chunkstore.FileKind, size int64) {
	t.bytes += uint64(size)
	switch kind {
	case chunkstore.ChunkFile:
		t.chunks++
		t.chunkBytes += uint64(size)
	case chunkstore.BadFile:
		t.bad++
	case chunkstore.TempFile:
		t.temp++
	case chunkstore.OtherFile, chunkstore.UsingMarker: // never go
	}
}

// survey looks through all chunk directories.
func (c *collection) survey(ctx context.Context) error {
	s := surveyor{collection: c}
	if err := c.chunks.Walk(ctx, nil, s.directory); err != nil {
		return err
	}
	c.report.Missing = c.report.Referenced - s.seen
	if s.using > 0 && s.empty > 0 {
		return fmt.Errorf("%q holds %d empty chunks and %d marks of chunks in use, as the local cache of an object store does: %w",
			c.path, s.empty, s.using, ErrNotDatastore)
	}
	return nil
}

// surveyor counts what is in the chunk directories.
type surveyor struct {
	*collection
	seen  int // distinct chunks that are marked and there
	empty int // chunks with no bytes
	using int
}

func (s *surveyor) directory(d *chunkstore.Directory) error {
	s.Datastore.opts.Events.progress(Progress{Operation: "survey", Object: s.path, Done: uint64(d.Number) + 1, Total: 1 << 16, Items: true})
	return s.decide(d, s)
}

// judge is told what becomes of the files of a directory.
type judge interface {
	goes(d *chunkstore.Directory, f chunkstore.File, info chunkstore.FileInfo) error
	stays(d *chunkstore.Directory, f chunkstore.File, info chunkstore.FileInfo, why reason) error
}

// reason is why a file stays.
type reason int

const (
	inUse reason = iota
	tooNew
	notOurs // unknown names: they harm nobody, and are somebody's
)

// decide says of each file in a directory whether it goes. Both times, the survey
// and the sweep, it is decided here. Something that is no plain file always stays.
func (c *collection) decide(d *chunkstore.Directory, to judge) error {
	var stored twin
	for _, f := range d.Files { // in order of name: a chunk comes before what is named after it
		info, err := d.Stat(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if f.Kind == chunkstore.ChunkFile {
			stored = twinOf(f, info)
		}
		if why, stays := c.stays(f, info, stored); stays {
			err = to.stays(d, f, info, why)
		} else {
			err = to.goes(d, f, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// twin is the chunk whose name came last, and whether it is any good.
type twin struct {
	digest digest.Digest
	there  bool
}

func twinOf(f chunkstore.File, info chunkstore.FileInfo) twin {
	return twin{digest: f.Digest, there: info.Regular && info.Size > 0}
}

func (c *collection) stays(f chunkstore.File, info chunkstore.FileInfo, stored twin) (reason, bool) {
	switch marked := f.Kind != chunkstore.OtherFile && c.marks.has(f.Digest); {
	case !info.Regular, f.Kind == chunkstore.OtherFile, f.Kind == chunkstore.UsingMarker:
		return notOurs, true
	case f.Kind == chunkstore.BadFile:
		// Only the last trace of a chunk that somebody misses is worth keeping.
		again := stored.there && stored.digest == f.Digest
		return inUse, marked && !again
	case f.Kind == chunkstore.ChunkFile && marked:
		return inUse, true
	}
	return tooNew, !c.isOld(info.Newest)
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
		s.report.PendingChunks++
		s.report.PendingBytes += uint64(info.Size)
		return nil
	case why == tooNew:
		return nil
	}
	s.report.DiskBytes += uint64(info.Size)
	if f.Kind == chunkstore.BadFile {
		if s.isOld(info.Newest) {
			s.report.StillBad++
		}
	} else {
		s.report.DiskChunks++
		if info.Size == 0 {
			s.report.Empty++
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
			s.empty++
		}
		if found, first := s.marks.see(f.Digest); found && first && info.Regular {
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

// maxStubborn is how many files may refuse to go before the sweep gives up.
const maxStubborn = 16

// sweepChunks removes what the survey found.
func (c *collection) sweepChunks(ctx context.Context) error {
	s := &sweeper{collection: c}
	err := c.chunks.Walk(ctx, c.plan.has, func(d *chunkstore.Directory) error {
		// Who replaced the lock file let writers in.
		if err := c.lock.Check(); err != nil {
			return err
		}
		c.Datastore.opts.Events.progress(Progress{Operation: "sweep", Object: c.path, Done: uint64(c.removed.chunks), Total: uint64(c.plan.totals.chunks), Items: true})
		return c.decide(d, s)
	})
	return errors.Join(append(s.stubborn, err)...)
}

// sweeper removes what goes.
type sweeper struct {
	*collection
	stubborn []error
}

func (s *sweeper) goes(d *chunkstore.Directory, f chunkstore.File, info chunkstore.FileInfo) error {
	err := d.Remove(f)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		s.stubborn = append(s.stubborn, err)
		if len(s.stubborn) >= maxStubborn {
			return errors.New("too many files can't be removed")
		}
		return nil
	}
	s.removed.add(f.Kind, info.Size)
	return nil
}

func (s *sweeper) stays(*chunkstore.Directory, chunkstore.File, chunkstore.FileInfo, reason) error {
	return nil
}

// conclude makes the figures of the report from what was planned and what was done.
func (c *collection) conclude() {
	done, plan := c.removed, c.plan.totals
	if c.opts.DryRun && len(c.report.Blocked) == 0 {
		done = plan
	}
	c.report.RemovedChunks, c.report.RemovedBytes = done.chunks, done.bytes
	c.report.RemovedBad, c.report.RemovedTemp = done.bad, done.temp
	c.report.PendingChunks += max(0, plan.chunks-done.chunks)
	if plan.chunkBytes > done.chunkBytes {
		c.report.PendingBytes += plan.chunkBytes - done.chunkBytes
	}
}

// sweepLeftovers removes what operations left that were cut off, and that nobody works on.
func (c *collection) sweepLeftovers(ctx context.Context) error {
	places := append([]string{leftoverDir}, c.beside...)
	before := c.countLeftovers(places)
	c.sweep(ctx, c.disk, c.root, c.beside...)
	c.report.RemovedLeftovers = before - c.countLeftovers(places)
	return ctx.Err()
}

func (c *collection) countLeftovers(places []string) (count int) {
	for _, name := range places {
		dir, err := beneath.OpenDir(c.root, name)
		if err != nil {
			continue
		}
		names, _ := dir.Readdirnames(-1)
		_ = dir.Close() // it was only read
		for _, name := range names {
			if isLeftover(name) {
				count++
			}
		}
	}
	return count
}
