// Package chunker finds the places at which a stream is cut into chunks of
// varying size, so that equal stretches of two streams become equal chunks
// even when something was inserted in front of them. The cuts are exactly those
// of Proxmox Backup's dynamic index: the same data gives the same chunks.
//
// There are three types. [Chunker] cuts one stream that is fed to it in pieces
// of any size. [PayloadChunker] does the same but prefers places that its caller
// suggests. [Rule] holds the three numbers that decide, and finds candidates in
// separate segments, which [Cutter] then chooses from.
//
//	c, err := chunker.New(4 << 20)
//	...
//	for n := c.Scan(buf); n > 0; n = c.Scan(buf) {
//		finish(buf[:n]) // the last piece of a chunk
//		buf = buf[n:]
//	}
//	keep(buf) // belongs to a chunk that is not complete yet
//
// # The rule
//
// A hash runs over the last 64 bytes ([Window]): cyclic polynomials, also known
// as buzhash (R. Uzgalis; see J. D. Cohen, "Recursive hashing functions for
// n-grams", ACM TOIS 15(3), 1997). Each byte has a random 32-bit word, and
//
//	hash = rotl(hash, 1) ^ word[byte that leaves] ^ word[byte that enters]
//
// where the leaving word needs no rotation because 64 is a multiple of 32. With
// avg a power of two, a chunk ends where its size reaches 4*avg; or where its
// size is at least avg/4, more than 64 bytes, and
//
//	hash & (2*avg - 1) >= 2*avg - 3
//
// Every chunk begins with an empty window, but since only windows that lie
// wholly inside the chunk decide, the hash at a place depends on nothing but the
// 64 bytes before it. Three things follow, and all speed here rests on them: the
// first avg/4 - 64 bytes of a chunk are never looked at; a place can be judged
// without knowing where its chunk began; and so stretches of one stream can be
// searched at the same time.
//
// # How it is fast
//
// The words are rotated beforehand so that the bits that decide are the topmost:
// the whole condition is one comparison. Then four bytes are taken in one step,
// with one table for each of the four places. An entry holds, beside the word for
// the hash after the step, nine of the deciding bits for each of the hashes
// inside the step, at a fixed place each. If none of those nine-bit fields is all
// ones, no cut lies there; one addition whose carries are looked at afterwards
// tells. About one block of 64 bytes in eight looks like a cut and is examined
// byte by byte. See skim.go.
//
// # What is not promised
//
// A cut says nothing about who sees what: the words are public, so sizes of
// chunks tell about the data. Data made for the purpose can have a cut at every
// place ([Rule.Candidates] then returns eight bytes for each byte) or none.
// No type here may be used from two goroutines at once, except [Rule].
package chunker
