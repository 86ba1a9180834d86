// Package catalog reads and writes catalogs (catalog.pcat1): the names, sizes and times in
// the archives of a snapshot, so that somebody looking for a file need not read the archives. It turns bytes into values
// and back and opens no file. Split archives have no catalog, since their .mpxar is one.
//
//	r, err := catalog.Open(file, size)
//	...
//	for found, err := range r.All() {
//
// # The format
//
//	offset  size
//	0       8     magic
//	8       -     a block for each directory, children before their parents
//	end-8   8     where the root's block is, little-endian
//
// A block is the length of what follows, the number of entries, and the entries: a letter for the kind, the length of the name,
// and the name; for a directory how far the child's block is before this one; for a file its size and its time in seconds. Numbers have
// seven bits a byte, the lowest first, and the eighth says that more follow; a negative one has it everywhere and a zero behind. The
// root has a directory for each archive, named like its index.
//
// # Hostile catalogs
//
// Memory is a few bytes for each directory that one is in. A block is read once in a walk: one that
// is reached again, and one that lies behind or inside of its parent, is [ErrCorrupt].
//
// # What is not promised
//
// Names are what the file says: they may be empty, be "..", and hold any bytes.
package catalog
