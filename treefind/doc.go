// Package treefind looks for names in the directory trees of snapshots, without restoring anything. It reads what has the
// names: the catalog of a snapshot, the .mpxar of a split archive (and not its .ppxar), and, of an archive that is in no catalog, the
// archive itself. Results are grouped by path, and say in which snapshots it is, and how it changed.
//
//	matcher, err := treefind.Compile(treefind.Query{Pattern: "nginx.conf"})
//	...
//	search := treefind.Search{Store: store, Matcher: matcher, Cache: treefind.NewCache(dir)}
//	for match, err := range search.Group(ctx, group) {
//
// # Errors
//
// What can't be searched is a [*SkippedError], and the search goes on behind it: a snapshot that is busy, unfinished or damaged, or
// encrypted without its key. Nothing is concluded from it: a path is neither there nor gone in that snapshot. Any other error is the last.
//
// Each snapshot is read under its shared lock, which is released before the next one is opened.
//
// # The cache
//
// [Cache] keeps the names of trees in a directory of the user's, outside of the store, each under the checksum of the index that it
// was read from: a tree that changes has another checksum, so nothing in it is ever out of date. A file of it, in little-endian order:
//
//	offset  size
//	0       16    magic, with the version
//	16      32    key: SHA-256 of the index's checksum and the archive's name
//	48      4     CRC-32C of all that follows
//	52      4     n, the number of entries
//	56      4     size of the names
//	60      -     names, in the order of the tree: "/" before each, and one behind the last
//	-       25n   for each: kind 1, number of the entry of its directory 4 (all ones: none), place of its slash 4, size 8, seconds 8
//
// Entries at the top are the archives; a directory stands before what is in it. So a name is found by looking for its text in the names, and its path by following
// the numbers. A file that is not as it was written is not used, and replaced.
//
// A name from the cache says what the archive held when it was read. Whether its data is still whole is not looked at.
//
// # Hostile trees
//
// A catalog is read into memory, up to [MaxCatalog]; other trees are read from front to back. What is found takes memory, up to
// [MaxMatches]; beyond, the search ends with [ErrTooMany]. Names that can be none, with a slash or "..", are damage.
//
// # What is not promised
//
// Sizes and times are of files only, in seconds: a catalog has no more. A hard link is a file with neither.
package treefind
