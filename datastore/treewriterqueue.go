package datastore

import (
	"fmt"

	"github.com/pbs-like/pbs-like/reuse"
)

// take writes a step, or puts it off where it comes behind files that are.
func (t *TreeWriter) take(s treeStep) error {
	if len(t.queue) == 0 {
		return t.write(&s)
	}
	return t.putOff(s)
}

// maxStepsPerFile bounds what is put off besides files, which costs memory and no descriptors.
const maxStepsPerFile = 64

// putOff puts a step behind those that wait. It is no file.
func (t *TreeWriter) putOff(s treeStep) error {
	if len(t.queue)/maxStepsPerFile >= t.opts.MaxQueued {
		if err := t.flush(reuse.Pause); err != nil {
			return err
		}
		return t.write(&s) // nothing that waits for a decision is before it now
	}
	t.queue = append(t.queue, s)
	return nil
}

// putOffFile puts a file behind those that wait, of which there are not too many, and which it follows without a hole.
func (t *TreeWriter) putOffFile(s treeStep) error {
	if t.queued == t.opts.MaxQueued {
		if err := t.flush(reuse.Full); err != nil {
			return s.failed(err)
		}
	}
	t.queue = append(t.queue, s)
	t.queued++
	return nil
}

// takeFile writes a file, or puts it off if its content need perhaps not be read.
func (t *TreeWriter) takeFile(s treeStep) error {
	if t.previous == nil {
		return t.write(&s)
	}
	planner := t.previous.planner
	old := t.previous.lookup(s.name)
	if old == nil || !reuse.Unchanged(old, &s.entry.Metadata, s.entry.Size) || !planner.Accepts(old.PayloadOffset, old.Size) {
		if err := t.flush(reuse.End); err != nil {
			return s.failed(err)
		}
		return t.write(&s)
	}
	if planner.Hole(old.PayloadOffset) {
		if err := t.flush(reuse.Pause); err != nil {
			return s.failed(err)
		}
	}
	s.old = old.PayloadOffset
	if err := t.putOffFile(s); err != nil {
		return err
	}
	planner.Take(old.PayloadOffset, old.Size)
	return nil
}

// flushAll writes everything that was put off or held back.
func (t *TreeWriter) flushAll() error {
	if t.previous == nil {
		return nil
	}
	return t.flush(reuse.End)
}

// flush decides about the files that were put off, and writes them.
func (t *TreeWriter) flush(why reuse.Why) error {
	plan := t.previous.planner.Flush(why)
	t.queued = 0
	t.noticePlan(&plan)
	if plan.Before != nil {
		if err := t.inject([]reuse.Chunk{*plan.Before}); err != nil {
			return err
		}
	}
	position := t.out.PayloadPosition()
	for i := range t.queue {
		if err := t.settle(&t.queue[i], &plan, position); err != nil {
			return err
		}
	}
	clear(t.queue) // which lets go of what was closed
	t.queue = t.queue[:0]
	return t.injectPlan(&plan)
}

// settle writes a step that was put off.
func (t *TreeWriter) settle(s *treeStep, plan *reuse.Plan, position uint64) error {
	switch {
	case s.kind != stepFile:
	case plan.Reuse:
		if err := s.close(); err != nil {
			return err
		}
		s.entry.PayloadOffset = plan.Place(s.old, position)
		t.stats.ReusedFiles++
		t.stats.ReusedBytes += s.entry.Size
	default:
		t.stats.ReadAgainFiles++
	}
	return t.write(s)
}

func (t *TreeWriter) noticePlan(plan *reuse.Plan) {
	switch {
	case plan.Err != nil:
		t.notice("files are read again, for their chunks can't be looked up", plan.Err)
	case plan.Missing:
		t.notice("files are read again, for a chunk of theirs is not there", nil)
	}
}

// maxInjected is how many chunks are injected at a time.
const maxInjected = 128

func (t *TreeWriter) injectPlan(plan *reuse.Plan) error {
	batch := make([]reuse.Chunk, 0, maxInjected)
	for chunk, err := range plan.Inject() {
		if err != nil {
			return fmt.Errorf("index of the base's payload: %w", err)
		}
		if batch = append(batch, chunk); len(batch) == maxInjected {
			if err := t.inject(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return t.inject(batch)
}

// inject puts chunks of the base into the payload. That they are there was made sure of by the planner.
func (t *TreeWriter) inject(chunks []reuse.Chunk) error {
	pieces := make([]piece, 0, len(chunks))
	for _, c := range chunks {
		pieces = append(pieces, piece{digest: c.Digest, size: int(c.Size()), reused: true})
		t.out.SkipPayload(c.Size())
		t.stats.Injected++
		t.stats.Padding += c.Padding
	}
	if len(pieces) == 0 {
		return nil
	}
	return t.contents.inject(pieces)
}

func (t *TreeWriter) notice(text string, err error) {
	t.writer.store.opts.Events.notice(t.writer.snapshot.Dir()+"/"+t.name.Display(), text, err)
}
