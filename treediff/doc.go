// Package treediff compares two directory trees of snapshots: names, metadata, and contents as far as that is possible, or asked for.
//
//	report, err := treediff.Compare(ctx, old, new, treediff.Options{}, func(c treediff.Change) error {
//
// Directories are compared by their tables, in the order of their names, whatever order the archives have. Where a name comes twice
// in a directory, the first one is compared with the first one.
//
// # What is not read
//
// A directory that consists of the same chunks in both is passed over, with everything below it, without reading any of them. So is
// the content of a file: the same chunks are the same content, and a chunk at the same place with another name is another content. What
// that does not settle is [NotCompared], and is never called the same; [Options].Content reads it. A file is a change only
// where something is known to have changed: of those with equal metadata whose content is not compared, [Report] has the number.
//
// # Hard links
//
// An archive has a file under the first of its names, and the others refer to it. Which name is the first may change, which is
// [Link]; what they are names of is compared all the same.
//
// # Hostile trees
//
// A directory may have [MaxEntries], and paths may have [MaxDepth] directories and 64 KiB; what is beyond is named like damage, and the comparison
// goes on beside it. Memory is what the entries of the directories need that the present one is in.
//
// # What is not promised
//
// What is damaged is compared with nothing: [Options].Damaged is told of it, and the names that would be missing for that are not called added or removed.
package treediff
