package chunker

import "math/bits"

// quarter is where a quarter of a block begins and whether it may hold a cut.
type quarter struct {
	hash    uint32 // of the window before its first byte
	suspect uint32 // any bit of carries set: there may be a cut
}

// skimmer goes through data in blocks of 64 bytes.
type skimmer struct {
	ring     ring
	quarters [4]quarter // of the last block
}

// fill makes ring that of a window. It does not need the hash.
func (s *skimmer) fill(t *stepTable, window *[Window]byte) {
	for i := range s.ring {
		b := (*[4]byte)(window[4*i:])
		s.ring[i] = t.sum(b[0], b[1], b[2], b[3])
	}
}

// sum and step are small enough for the compiler to insert them where they are
// called, which skim depends on.
func (t *stepTable) sum(a, b, c, d byte) uint64 {
	return t[0][a] ^ t[1][b] ^ t[2][c] ^ t[3][d]
}

// step returns the hash four bytes on, and suspect with a bit of carries set when
// hash or one of the three that follow it may be a cut. e is the sum of what
// enters and what leaves.
func step(hash, suspect uint32, e uint64) (uint32, uint32) {
	r := bits.RotateLeft32(hash, 4)
	suspect |= (uint32(e) ^ (r>>field)*ones) + ones
	suspect |= r>>field + 1
	return r ^ uint32(e>>32), suspect
}

// skim goes through whole blocks of data, where hash is that of the 64 bytes in
// front of data and s.ring their sums. It returns the offset just after the first
// block in which there may be a cut at one of the places 0 to 63 (place 0 being
// the one before the block's first byte, place 64 belongs to the next block), the
// hash there, and true; or else the offset after the last whole block, and false.
//
// It is written out because a loop costs a third of the speed: constant offsets
// need no arithmetic and no bounds checks.
func (s *skimmer) skim(t *stepTable, hash uint32, data []byte) (int, uint32, bool) {
	r := &s.ring
	q := &s.quarters
	done := 0
	for len(data)-done >= block {
		b := (*[block]byte)(data[done:])
		var suspect uint32
		var m uint64

		q[0].hash, suspect = hash, 0
		m = t.sum(b[0], b[1], b[2], b[3])
		r[0], m = m, m^r[0]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[4], b[5], b[6], b[7])
		r[1], m = m, m^r[1]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[8], b[9], b[10], b[11])
		r[2], m = m, m^r[2]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[12], b[13], b[14], b[15])
		r[3], m = m, m^r[3]
		hash, suspect = step(hash, suspect, m)
		q[0].suspect = suspect

		q[1].hash, suspect = hash, 0
		m = t.sum(b[16], b[17], b[18], b[19])
		r[4], m = m, m^r[4]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[20], b[21], b[22], b[23])
		r[5], m = m, m^r[5]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[24], b[25], b[26], b[27])
		r[6], m = m, m^r[6]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[28], b[29], b[30], b[31])
		r[7], m = m, m^r[7]
		hash, suspect = step(hash, suspect, m)
		q[1].suspect = suspect

		q[2].hash, suspect = hash, 0
		m = t.sum(b[32], b[33], b[34], b[35])
		r[8], m = m, m^r[8]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[36], b[37], b[38], b[39])
		r[9], m = m, m^r[9]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[40], b[41], b[42], b[43])
		r[10], m = m, m^r[10]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[44], b[45], b[46], b[47])
		r[11], m = m, m^r[11]
		hash, suspect = step(hash, suspect, m)
		q[2].suspect = suspect

		q[3].hash, suspect = hash, 0
		m = t.sum(b[48], b[49], b[50], b[51])
		r[12], m = m, m^r[12]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[52], b[53], b[54], b[55])
		r[13], m = m, m^r[13]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[56], b[57], b[58], b[59])
		r[14], m = m, m^r[14]
		hash, suspect = step(hash, suspect, m)
		m = t.sum(b[60], b[61], b[62], b[63])
		r[15], m = m, m^r[15]
		hash, suspect = step(hash, suspect, m)
		q[3].suspect = suspect

		done += block
		if (q[0].suspect|q[1].suspect|q[2].suspect|q[3].suspect)&carries != 0 {
			return done, hash, true
		}
	}
	return done, hash, false
}
