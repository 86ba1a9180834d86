// Package digest is the name of a chunk: 32 bytes, the SHA-256 of the data that
// the chunk holds once decoded.
//
// There is one type, [Digest]. [Of] names data, [Parse] reads the text form
// (64 lower-case hexadecimal digits, the name of the chunk's file), and
// [Digest.String] writes it:
//
//	d := digest.Of([]byte("hello world"))
//	fmt.Println(d) // b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9
//
// A Digest is a value: comparable, usable as a key of a map, ordered by
// [Digest.Compare].
//
// What is not promised: that a Digest says how its data is stored. A chunk of an
// encrypted backup is named by the SHA-256 of data and key together, so [Of]
// does not name it.
package digest
