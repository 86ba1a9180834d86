// Package beneath opens names below an open directory and nowhere else.
//
// A store is a tree that several programs write to. A name in it may be
// replaced by a symbolic link, by a named pipe or by a directory of the same
// name at any moment, so a path that is walked from the root a second time may
// lead somewhere else. This package starts every walk at a descriptor, never
// follows a symbolic link, never leaves the directory, and never lets an open
// block on something that is not a regular file.
//
//   - [Open] is openat(2) with those rules.
//   - [OpenDir] opens a directory, [OpenRegular] a regular file for reading and
//     [OpenRegularFlags] one for anything else.
//   - [OpenFD] and [OpenRegularFD] return a bare descriptor number.
//   - [Stat] is lstat(2) with those rules.
//
// Names are relative, use "/" and are given in their shortest form: "vm/100",
// not "vm//100", "./vm/100" or "vm/../vm/100". The name "." is the directory
// itself. Everything else is refused with [ErrName].
//
//	f, err := beneath.OpenRegular(store, "vm/100/owner")
//
// All descriptors are close-on-exec. Errors are of type *fs.PathError, with the
// path built from the name of the directory's *os.File.
//
// # What is not promised
//
// Mount points are entered: a disk mounted somewhere below the directory is
// part of it. A hard link is as good as the file. The directory itself may have
// been moved or removed since it was opened.
package beneath
