// Package export writes a directory tree, or a part of one, in other formats: as a
// tar archive, as a zip archive, or as a pxar archive of its own. It turns bytes into bytes; it opens no
// file and makes none.
//
//	stats, err := export.Tar(out, archive, top, export.Options{})
//
// Paths stay as they are in the archive, relative to its root; a pxar archive begins with the directory
// that was asked for. What a format can't hold is left out, and [Options.LeftOut] hears of it.
//
// Tar is written in the PAX format, with extended attributes, access lists and capabilities in the records that
// GNU tar and libarchive know. The format's own flags and project ids are not in it. Zip has names,
// contents, modes, times and symbolic links.
//
// A hard link is written as one where it leads to a file that was written before it under the name
// that it gives, and else as a file of its own, with the content. So no link in the output leads out of it. Where symbolic
// links lead is for who unpacks it.
package export
