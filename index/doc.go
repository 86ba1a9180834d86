// Package index reads and writes the files that list the chunks of an archive:
// fixed indexes (.fidx) of disk images and dynamic indexes (.didx) of streams.
//
//	offset  bytes                      all integers little-endian
//	0       8      magic: the kind
//	8       16     UUID
//	24      8      time of creation, seconds since 1970
//	32      32     checksum: SHA-256 of all entries
//	64      8      fixed only: bytes of the image
//	72      8      fixed only: bytes of a chunk, a power of two
//	..4096         zeros
//	4096           entries: fixed 32 bytes: digest; dynamic 40 bytes: end, digest
//
// A [Reader] works on an [io.ReaderAt] and keeps only a few blocks of entries, so
// that the index of a huge image needs no memory to speak of. A [FixedWriter] or
// [DynamicWriter] streams the entries to a place behind the header and hands out
// the header at the end:
//
//	r, err := index.Open(file, size, index.Dynamic)
//	i, err := r.ChunkAt(offset)
//	chunk, err := r.Chunk(i)
//	fmt.Println(chunk.Digest, offset-chunk.Start, chunk.Size())
//
// Damage shows where it matters. [Open] checks what the header says against the
// length of the file, [Reader.Chunk] and [Reader.Chunks] check the offsets they
// return, and [Reader.ComputeChecksum] is there for who wants to compare. All
// errors about the bytes of an index unwrap to [ErrCorrupt]. For a collection,
// which must never lose a chunk to such damage, [Digests] needs a valid magic and
// nothing else.
//
// A dynamic index without entries is read as the empty archive. The original
// writes such a file too, but refuses to open it.
//
// What is not promised: that the stored checksum is right (nobody checks it when
// an index is opened, the original does not either), that the chunks exist, or a
// consistent view of a file that changes.
package index
