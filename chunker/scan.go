package chunker

import "math/bits"

// scanner finds the candidates of one buffer, in ascending order. A place is
// named by the number of bytes before it.
type scanner struct {
	rule  *Rule
	data  []byte
	at    int    // the next place to judge; no place yet to judge beyond len(data)
	hash  uint32 // of the window before at
	skims skimmer
}

// start makes the scanner judge the places from..len(data), where
// Window <= from <= len(data).
func (s *scanner) start(rule *Rule, data []byte, from int) {
	s.rule, s.data, s.at, s.hash = rule, data, from, 0
	window := (*[Window]byte)(data[from-Window:])
	for _, b := range window {
		s.hash = bits.RotateLeft32(s.hash, 1) ^ rule.words[b]
	}
	if rule.steps != nil {
		s.skims.fill(rule.steps, window)
	}
}

// next returns the candidates of the next 64 places that have any: bit i of the
// mask stands for the place first+i. A mask of zero means that there are no more.
func (s *scanner) next() (first int, mask uint64) {
	for mask == 0 && s.at <= len(s.data) {
		first, mask = s.block()
	}
	return first, mask
}

func (s *scanner) block() (first int, mask uint64) {
	if len(s.data)-s.at < block {
		return s.tail()
	}
	if s.rule.steps == nil {
		first = s.at
		mask, s.hash = s.walk(s.hash, first, block)
		s.at += block
		return first, mask
	}
	return s.skim()
}

// tail judges the last places, at most 64.
func (s *scanner) tail() (first int, mask uint64) {
	first = s.at
	rest := len(s.data) - first
	mask, hash := s.walk(s.hash, first, rest)
	if hash >= s.rule.threshold {
		mask |= 1 << rest
	}
	s.at = len(s.data) + 1
	return first, mask
}

// skim goes on to the next block that looks like a cut and judges its suspect
// quarters in earnest.
func (s *scanner) skim() (first int, mask uint64) {
	done, hash, found := s.skims.skim(s.rule.steps, s.hash, s.data[s.at:])
	s.at, s.hash = s.at+done, hash
	first = s.at - block
	if !found {
		return first, 0
	}
	for i, q := range &s.skims.quarters {
		if q.suspect&carries != 0 {
			m, _ := s.walk(q.hash, first+i*block/4, block/4)
			mask |= m << (i * block / 4)
		}
	}
	return first, mask
}

// walk judges n places from at on, byte by byte, and returns the hash at place
// at+n, which it does not judge.
func (s *scanner) walk(hash uint32, at, n int) (mask uint64, after uint32) {
	words := &s.rule.words
	leave := s.data[at-Window:][:n]
	enter := s.data[at:][:n]
	for i := range n {
		if hash >= s.rule.threshold {
			mask |= 1 << i
		}
		hash = bits.RotateLeft32(hash, 1) ^ (words[leave[i]] ^ words[enter[i]])
	}
	return mask, hash
}

// first returns the first candidate from place from on, or 0 when there is none.
func (r *Rule) first(data []byte, from int) int {
	if from > len(data) {
		return 0
	}
	var s scanner
	s.start(r, data, from)
	at, mask := s.next()
	if mask == 0 {
		return 0
	}
	return at + bits.TrailingZeros64(mask)
}
