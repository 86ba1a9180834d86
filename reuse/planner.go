package reuse

import (
	"fmt"

	"github.com/pbs-like/pbs-like/index"
)

const (
	// Header is how many bytes stand before each content in a payload.
	Header = 16
	// DefaultMaxPadding is the part of reused chunks that may be padding.
	DefaultMaxPadding = 0.1
)

// Options are how it is decided.
type Options struct {
	// MaxPadding is the part of the reused data, from 0 to 1, that may be padding; 0 is
	// [DefaultMaxPadding], and less than 0 is none at all.
	MaxPadding float64
	// Exists tells whether a chunk of the index can be counted on, and keeps it from being
	// collected. The files of a row of which one can't are read again. nil is yes.
	Exists func(index.Chunk) (bool, error)
}

// Planner decides of one payload. It is not for concurrent use.
type Planner struct {
	index *index.Reader
	opts  Options

	from, to uint64 // the row that is put off, in the previous payload; to is 0 where there is none
	taken    uint64 // the highest offset of all that was taken, and one more
	held     *Chunk
}

// Chunk is a chunk of the previous payload.
type Chunk struct {
	index.Chunk

	// Padding is how many of its bytes belong to no file that is reused.
	Padding uint64
}

// New returns a Planner for the chunks of the previous payload.
func New(payload *index.Reader, opts Options) *Planner {
	if opts.MaxPadding == 0 {
		opts.MaxPadding = DefaultMaxPadding
	}
	if opts.Exists == nil {
		opts.Exists = func(index.Chunk) (bool, error) { return true, nil }
	}
	return &Planner{index: payload, opts: opts}
}

// Accepts tells whether the content of that size at an offset of the previous payload can be
// reused at all: it has to lie in the payload, behind everything that was taken before.
func (p *Planner) Accepts(offset, size uint64) bool {
	end := p.index.Size()
	return offset >= p.taken && offset <= end && end-offset >= Header && size <= end-offset-Header
}

// Hole tells whether the content at an offset can't be taken into the row that is put off.
func (p *Planner) Hole(offset uint64) bool { return p.to > 0 && offset != p.to }

// Take puts a content off that is accepted and follows on the row without a hole.
func (p *Planner) Take(offset, size uint64) {
	if p.to == 0 {
		p.from = offset
	}
	p.to = offset + Header + size
	p.taken = offset + 1
}

// Why is what ends a row.
type Why int

const (
	// End means that something else is written to the payload next, or nothing.
	End Why = iota
	// Pause means that another row follows, behind a hole.
	Pause
	// Full means that the row goes on without a hole, and that there are too many files to be put off: what is in the
	// last chunk behind them counts as padding when it is known what becomes of it.
	Full
)

// Flush ends the row. The plan is to be carried out before anything else is written to the payload.
func (p *Planner) Flush(why Why) Plan {
	from, to := p.from, p.to
	p.from, p.to = 0, 0
	if to == 0 {
		return p.nothing(why)
	}
	plan, err := p.cover(from, to, why)
	if err == nil {
		err = p.judge(&plan)
	}
	if err != nil || !plan.Reuse {
		plan.Reuse, plan.Err = false, err
		plan.Before, p.held = p.held, nil
		return plan
	}
	if !p.same(plan.head) {
		plan.Before = p.held
	}
	p.held = nil
	if why != End {
		p.held = &plan.tail
		plan.end--
	}
	return plan
}

// nothing is the plan where no file is put off. A chunk that is held back stays so as
// long as nothing else is written.
func (p *Planner) nothing(why Why) (plan Plan) {
	if why == End {
		plan.Before, p.held = p.held, nil
	}
	return plan
}

// same tells whether a chunk is the one that is held back: the same place in the index.
func (p *Planner) same(c Chunk) bool {
	return p.held != nil && p.held.Digest == c.Digest && p.held.End == c.End
}

// cover finds the chunks around a range. Behind a range that ends with a chunk one more is taken, as the original does.
func (p *Planner) cover(from, to uint64, why Why) (Plan, error) {
	plan := Plan{index: p.index}
	var err error
	if plan.first, err = p.index.ChunkAt(from); err != nil {
		return plan, err
	}
	last := p.index.Count() - 1
	if to < p.index.Size() {
		if last, err = p.index.ChunkAt(to); err != nil {
			return plan, err
		}
	}
	plan.end = last + 1
	head, err := p.index.Chunk(plan.first)
	if err != nil {
		return plan, err
	}
	tail, err := p.index.Chunk(last)
	if err != nil {
		return plan, err
	}
	if head.Start > from || tail.End < to || last < plan.first {
		return plan, fmt.Errorf("chunks %d to %d do not hold the range from %d to %d: %w", plan.first, last, from, to, index.ErrCorrupt)
	}
	plan.start, plan.Total = head.Start, tail.End-head.Start
	plan.Chunks = plan.end - plan.first
	plan.head, plan.tail = Chunk{head, from - head.Start}, Chunk{tail, tail.End - to}
	p.pad(&plan, why)
	return plan, nil
}

// pad counts the padding, less what a chunk that is held back holds of files that are reused already.
func (p *Planner) pad(plan *Plan, why Why) {
	if p.same(plan.head) {
		used := plan.head.Size() - p.held.Padding
		plan.head.Padding -= min(used, plan.head.Padding)
	}
	behind := plan.tail.Padding
	plan.Padding = plan.head.Padding + behind
	if plan.Chunks == 1 {
		plan.head.Padding = plan.Padding
		plan.tail.Padding = plan.Padding
	}
	if why == Full {
		plan.Padding -= behind
		plan.Total -= behind
	}
}

// judge decides whether the chunks are good enough, and there.
func (p *Planner) judge(plan *Plan) error {
	plan.Ratio = float64(plan.Padding) / float64(plan.Total)
	if plan.Ratio > max(p.opts.MaxPadding, 0) {
		return nil
	}
	for chunk, err := range plan.all() {
		if err != nil {
			return err
		}
		there, err := p.opts.Exists(chunk.Chunk)
		if err != nil || !there {
			plan.Missing = !there
			return err
		}
	}
	plan.Reuse = true
	return nil
}
