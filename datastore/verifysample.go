package datastore

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/pbs-like/pbs-like/digest"
)

// errTimeUp ends the reading of a snapshot, and never leaves a verification.
var errTimeUp = errors.New("the time is up")

// timeUp tells whether no other chunk is to be read.
func (v *verification) timeUp() bool {
	return v.opts.MaxDuration > 0 && v.now().Sub(v.start) >= v.opts.MaxDuration
}

// skipped counts what the sample left out so far.
func (v *verification) skipped() (n int) {
	for _, e := range v.examiners() {
		n += e.skipped
	}
	return n
}

// sample chooses chunks. Whether one is chosen depends on its digest and the seed
// alone, so that a chunk that several snapshots share is chosen for all or for none.
type sample struct {
	all   bool
	below uint64
	seed  uint64
}

func newSample(opts VerifyOptions) sample {
	if opts.Sample <= 0 || opts.Sample >= 1 {
		return sample{all: true}
	}
	return sample{below: uint64(opts.Sample * math.MaxUint64), seed: mix(opts.Seed)}
}

func (s sample) has(d digest.Digest) bool {
	return s.all || mix(binary.BigEndian.Uint64(d[:])^s.seed) < s.below
}

// mix is the output function of SplitMix64: each bit depends on all.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
