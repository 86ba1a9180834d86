// Package reuse decides which chunks of a tree's previous payload stand for files
// that have not changed, so that these need not be read again. It knows no files and stores nothing.
//
// Files come in the order of the archive. A row of unchanged ones, whose contents follow each other in the
// previous payload, is put off until it ends; then the chunks that it lies in are looked up. They may hold more
// than the row, before it and behind it: that is padding. Where it is too much of them, the files
// are read again. The last chunk of a row that is followed by another one is held back, since the
// next row often begins in it.
//
//	p := reuse.New(index, reuse.Options{})
//	for each file:
//		if !reuse.Unchanged(old, metadata, size) || !p.Accepts(old.PayloadOffset, size) {
//			plan := p.Flush(reuse.End) // and then the file is written anew
//		} else if p.Hole(old.PayloadOffset) {
//			plan := p.Flush(reuse.Pause)
//		} else if there are too many to be put off {
//			plan := p.Flush(reuse.Full)
//		}
//		p.Take(old.PayloadOffset, size)
//
// A [Plan] says, in this order, what goes into the new payload: a chunk that was held back; then
// the files themselves if they are read again, or else the chunks, in which [Plan.Place] finds each content.
//
// Where that differs from the original, and why, is told in docs/decisions/0006.
//
// # What is not noticed
//
// A content counts as unchanged as long as its metadata are: a change that leaves the size, the time of
// the last change and all else as they were, such as one that sets the time back, or one in the very tick of
// the clock in which the file was read before, is not seen. The time of the last change of the inode and its number
// are not in an archive and can't be compared. The names of extended attributes count and their values don't, for they are
// written anew in any case.
package reuse
