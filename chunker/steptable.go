package chunker

import "math/bits"

// The tables below answer for four bytes at a time. Let h be the hash before a
// step and a, b, c, d its four bytes, with e = word[byte that enters] ^
// word[byte that leaves] of each. The hash goes through
//
//	h1 = rotl(h, 1) ^ ea
//	h2 = rotl(h, 2) ^ rotl(ea, 1) ^ eb
//	h3 = rotl(h, 3) ^ rotl(ea, 2) ^ rotl(eb, 1) ^ ec
//	h4 = rotl(h, 4) ^ rotl(ea, 3) ^ rotl(eb, 2) ^ rotl(ec, 1) ^ ed
//
// and a cut needs the topmost bits of one of them to be ones. Rotated to the
// place where h4 has them, all four are sums of the same rotated words:
//
//	rotl(h, 4)                    = r
//	rotl(h1, 3)                   = r ^ rotl(ea, 3)
//	rotl(h2, 2)                   = r ^ rotl(ea, 3) ^ rotl(eb, 2)
//	rotl(h3, 1)                   = r ^ rotl(ea, 3) ^ rotl(eb, 2) ^ rotl(ec, 1)
//
// and the nine topmost bits of those belong to the bits that decide, if there are
// enough of these. An entry of the table for the first byte is therefore
//
//	bits 32-63  rotl(word, 3)          what the byte adds to h4
//	bits 20-28  its nine topmost bits  what it adds to the field of h3
//	bits 10-18  the same               to the field of h2
//	bits  0- 8  the same               to the field of h1
//
// the second byte's has nothing for h1, the third's nothing for h1 and h2, and
// the fourth's only what it adds to h4. Bits 9, 19 and 29 stay free for the carry
// that adding 1 to a field of nine ones makes. h itself is judged from r alone.
type stepTable [4][256]uint64

const (
	fieldBits = 9
	// minFilterBits is the number of deciding bits from which on nine of them,
	// moved by up to four, are among those that must be ones: all but the
	// lowest two.
	minFilterBits = fieldBits + 4 + 2

	ones    = 1 | 1<<10 | 1<<20 // the lowest bit of each field
	carries = ones << fieldBits // where a field of nine ones overflows to
	field   = 32 - fieldBits    // the shift that leaves the topmost nine bits
	block   = 64                // bytes that skim takes between two decisions
)

func newStepTable(words *[256]uint32) *stepTable {
	t := new(stepTable)
	for place := range t {
		for b, word := range words {
			word = bits.RotateLeft32(word, 3-place)
			entry := uint64(word) << 32
			for hash := place; hash < 3; hash++ {
				entry |= uint64(word>>field) << (10 * hash)
			}
			t[place][b] = entry
		}
	}
	return t
}

// ring holds the sums of entries of the last 64 bytes, four bytes each: what
// leaves the window is what entered it 16 steps ago.
type ring [16]uint64
