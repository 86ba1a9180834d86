package chunker

import "math/bits"

// reference cuts by the letter of the rule: one byte after the other, nothing
// skipped, the words as the format has them.
type reference struct {
	avg    int
	hash   uint32
	size   int
	window [Window]byte
}

// scan is Chunker.Scan.
func (r *reference) scan(data []byte) int {
	for i, b := range data {
		leaving := r.window[r.size%Window]
		r.window[r.size%Window] = b
		r.hash = bits.RotateLeft32(r.hash, 1) ^ wordOf[b]
		r.size++
		if r.size <= Window {
			continue
		}
		r.hash ^= wordOf[leaving]
		if r.ends() {
			*r = reference{avg: r.avg}
			return i + 1
		}
	}
	return 0
}

func (r *reference) ends() bool {
	mask := uint32(2*r.avg - 1)
	switch {
	case r.size >= r.avg*4:
		return true
	case r.size < r.avg/4:
		return false
	default:
		return r.hash&mask >= mask-2
	}
}

// referenceCandidates judges each place on its own.
func referenceCandidates(avg int, data []byte) []uint64 {
	var places []uint64
	mask := uint32(2*avg - 1)
	for at := Window; at <= len(data); at++ {
		var hash uint32
		for _, b := range data[at-Window : at] {
			hash = bits.RotateLeft32(hash, 1) ^ wordOf[b]
		}
		if hash&mask >= mask-2 {
			places = append(places, uint64(at))
		}
	}
	return places
}

type scanning interface{ scan(data []byte) int }

type scanFunc func([]byte) int

func (f scanFunc) scan(data []byte) int { return f(data) }

// endsOf returns the ends of all chunks of data, fed in pieces of the given sizes
// in turn; the last end is the length of data.
func endsOf(s scanning, data []byte, pieces ...int) []int {
	var ends []int
	at := 0
	for i := 0; at < len(data); i++ {
		piece := data[at:]
		if len(pieces) > 0 {
			piece = piece[:min(len(piece), pieces[i%len(pieces)])]
		}
		for n := s.scan(piece); n > 0; n = s.scan(piece) {
			at += n
			ends = append(ends, at)
			piece = piece[n:]
		}
		at += len(piece)
	}
	if len(data) > 0 && (len(ends) == 0 || ends[len(ends)-1] != len(data)) {
		ends = append(ends, len(data))
	}
	return ends
}
