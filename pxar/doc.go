// Package pxar reads and writes pxar archives: directory trees as Proxmox Backup
// stores them, with everything that Linux knows of a file. It turns bytes into
// values and back; it opens no file and makes none.
//
// [Archive] reads at any place and finds an entry by its path with a few small reads.
// [Reader] reads from front to back, and [Writer] writes that way. All three know
// version 1, with the contents inside (.pxar), and the split form of version 2, with the
// contents in a stream of their own (.mpxar and .ppxar).
//
//	a, err := pxar.Open(file, size, pxar.OpenOptions{})
//	...
//	e, err := a.Lookup("/etc/hostname")
//	...
//	content, err := a.Content(e)
//
// # The format
//
// An archive is a row of items, without gaps. All numbers are little-endian.
//
//	offset  size
//	0       8     type
//	8       8     size of the item, these 16 bytes included
//	16      -     content
//
// An entry is ENTRY, then any XATTR, ACL_*, FCAPS and QUOTA_PROJID, then what it is: PAYLOAD or
// PAYLOAD_REF, SYMLINK or DEVICE; nothing for a FIFO or a socket. A directory goes on with a
// FILENAME before each child and ends with GOODBYE. A HARDLINK stands in the place of a whole
// entry. Version 2 begins with FORMAT_VERSION and perhaps PRELUDE.
//
//	ENTRY     mode 8, flags 8, uid 4, gid 4, seconds 8 (signed), nanoseconds 4, zero 4
//	HARDLINK  bytes back to the first name's FILENAME 8, its path from the root, NUL
//	PAYLOAD_REF  place of the PAYLOAD in the payload stream 8, size of the content 8
//	GOODBYE   for each child: SipHash-2-4 of its name 8, bytes back to its FILENAME 8, size 8;
//	          the last one is the tail: a marker, bytes back to the ENTRY, size of the whole item
//
// The children in a GOODBYE table are a complete binary search tree by hash, level by level, so that a
// name is found without reading the table. The root's tail is the end of the archive. In the root of version 2 it counts from the
// archive's first byte, and the size of a file whose content was written newly counts that too.
//
// # Hostile archives
//
// Nothing here panics, loops, or takes memory for a number that only an archive claims. What an
// entry's metadata may come to (16 MiB), the names of the directories that one is in (64 KiB), and
// the entries of one directory in a listing (8 Mi) are bounded. What a [Dir] opens lies inside of
// it, so that a descent ends; who descends everywhere takes [Archive.Walk], whose time is bounded by
// the bytes that there are. Names never hold a slash and are never "." or "..". They may hold anything
// else, may come twice, and the targets of links may be anything: what must not happen when they are used is for the user of
// this package to see to.
//
// # What is not promised
//
// What the original's reader takes is taken, and what it refuses is [ErrCorrupt]; docs/decisions says where that is
// not so. Contents have no checksum here: chunks have. The order of names is not checked.
package pxar
