package datastore

import (
	"context"
	"errors"
	"io/fs"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
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

func (p *sweepPlan) join(other *sweepPlan) {
	for i, word := range other.directories {
		p.directories[i] |= word
	}
	p.totals.chunks += other.totals.chunks
	p.totals.bad += other.totals.bad
	p.totals.temp += other.totals.temp
	p.totals.bytes += other.totals.bytes
	p.totals.chunkBytes += other.totals.chunkBytes
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
	if c.opts.DryRun && len(c.report.Blocked) == 0 {
		c.report.RemovedLeftovers = c.leftovers
	}
	// What was to go and was not reached is pending as well: from now on.
	if left := plan.chunks - done.chunks; left > 0 {
		c.pending.chunks += left
		c.pending.bytes += plan.chunkBytes - min(plan.chunkBytes, done.chunkBytes)
	}
	c.report.PendingChunks, c.report.PendingBytes = c.pending.chunks, c.pending.bytes
	c.report.PendingFrom, c.report.PendingUntil = c.pending.from, c.pending.until
}
