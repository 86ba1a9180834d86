package chunker

import (
	"fmt"
	"math/bits"
)

const (
	// Window is the number of bytes that decide whether a chunk may end after
	// the last of them.
	Window = 64
	// Context is the number of bytes in front of a segment that
	// [Rule.Candidates] needs in order to judge the segment's first places.
	Context = Window - 1
	// MinAverage is the smallest average size of chunks.
	MinAverage = 256
	// MaxAverage is the largest average size of chunks: the largest chunk, four
	// times as long, is then as large as a data blob can be (128 MiB).
	MaxAverage = 32 << 20
)

// Rule decides where chunks may end. It does not change once it is made and may
// be used by several goroutines.
type Rule struct {
	avg int

	// A place is a candidate when its hash, in the rotated form of words, is at
	// least threshold.
	threshold uint32
	words     [256]uint32
	// steps is nil where the average is too small for nine bits to be a filter.
	steps *stepTable
}

// NewRule returns the rule for chunks of avg bytes on average, which is a power
// of two from [MinAverage] to [MaxAverage].
func NewRule(avg int) (*Rule, error) {
	if avg < MinAverage || avg > MaxAverage || bits.OnesCount(uint(avg)) != 1 {
		return nil, fmt.Errorf("average chunk size %d is not a power of two from %d to %d", avg, MinAverage, MaxAverage)
	}
	// The condition is on the lowest n bits of the hash: at least 2^n - 3.
	n := bits.Len(uint(avg))
	r := &Rule{avg: avg, threshold: (1<<n - 3) << (32 - n)}
	for b, word := range wordOf {
		r.words[b] = bits.RotateLeft32(word, 32-n)
	}
	if n >= minFilterBits {
		r.steps = newStepTable(&r.words)
	}
	return r, nil
}

// Average returns the average size of chunks in bytes that the rule was made for.
// The chunks of random data are a little smaller than that.
func (r *Rule) Average() int { return r.avg }

// Min returns the size in bytes that every chunk but the last of a stream has at
// least.
func (r *Rule) Min() int { return r.avg / 4 }

// Max returns the size in bytes that no chunk exceeds.
func (r *Rule) Max() int { return r.avg * 4 }

// firstEnd returns the smallest size of a chunk at which its hash may end it. The
// original looks at the hash only after the window has moved for the first time.
func (r *Rule) firstEnd() int { return max(r.Min(), Window+1) }
