package chunker

import "math/bits"

// Candidates appends to dst the places at which a chunk may end because of the
// 64 bytes before it, in ascending order, as offsets in the stream. offset is
// that of segment[0].
//
// The segment begins [Context] bytes before the first place to be judged, so that
// each place of a stream is judged exactly once: for the bytes from..to of a
// stream the segment is the bytes from-Context..to, and the first segment begins
// at 0. Segments may be judged in any order and at the same time; it is the
// [Cutter] that needs them in order.
func (r *Rule) Candidates(dst []uint64, segment []byte, offset uint64) []uint64 {
	if len(segment) < Window {
		return dst
	}
	var s scanner
	s.start(r, segment, Window)
	for {
		at, mask := s.next()
		if mask == 0 {
			return dst
		}
		for ; mask != 0; mask &= mask - 1 {
			dst = append(dst, offset+uint64(at+bits.TrailingZeros64(mask)))
		}
	}
}

// Cutter chooses the cuts of one stream from its candidates. It is not for
// concurrent use.
type Cutter struct {
	rule  *Rule
	start uint64 // of the present chunk
}

// Cutter returns a Cutter at the beginning of a stream.
func (r *Rule) Cutter() *Cutter { return &Cutter{rule: r} }

// Cut appends to dst the ends of all chunks that are certain once every candidate
// up to the offset known is: candidates holds, in ascending order, those after
// the offset that the last call knew. None needs to be handed over twice.
func (c *Cutter) Cut(dst, candidates []uint64, known uint64) []uint64 {
	for {
		first := c.start + uint64(c.rule.firstEnd())
		last := c.start + uint64(c.rule.Max())
		for len(candidates) > 0 && candidates[0] < first {
			candidates = candidates[1:]
		}
		switch {
		case len(candidates) > 0 && candidates[0] <= last:
			c.start = candidates[0]
		case known >= last:
			c.start = last
		default:
			return dst
		}
		dst = append(dst, c.start)
	}
}

// Start returns the offset at which the present chunk begins: the last cut.
func (c *Cutter) Start() uint64 { return c.start }
