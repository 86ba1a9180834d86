// Package fsop holds the few ways in which we change a disk.
//
// Everything that makes, replaces, renames or removes something on disk goes
// through a [Disk], so that its order of steps can be read in one place and
// each step can be made to fail in a test (package fsoptest). A nil *Disk and
// the zero Disk are the real thing.
//
// Its types:
//
//   - [Disk] makes, renames, removes, touches and syncs. Every method takes an
//     open directory and a single name in it, never a path: what a directory
//     descriptor refers to can't be exchanged under us by renaming a parent or
//     by a symbolic link on the way.
//
//   - [File] is a new file that is not yet what it is to become: fill it, then
//     [File.Commit] it under its final name or [File.Discard] it. Deferring
//     Discard is always right.
//
//   - [Change] describes one step to the hooks of a Disk.
//
//     f, err := disk.CreateTemp(dir, fsop.TempPrefix("disk.img.fidx"), 0o644)
//     if err != nil {
//     return err
//     }
//     defer f.Discard() // does nothing after Commit
//     // ... write ...
//     return f.Commit("disk.img.fidx", fsop.CommitOptions{NoReplace: true, Sync: true})
//
// What holds after an error: a new file or directory of ours is not left
// behind, and a file that was to be replaced is either the old or the new one,
// whole. The exceptions are named at the methods that have them. Should the
// clean-up fail as well, both errors are returned, joined.
//
// New files and directories get exactly the permissions asked for, whatever
// the umask and the default ACL of the directory say.
//
// # Not promised
//
// Nothing here locks, retries a failed disk, or checks that two directories
// belong together. Data is on disk only after a sync that returned nil; a
// rename is, only after the directory was synced. A name is checked to be one
// name, not to be a wise one. Nothing is promised about extended attributes.
package fsop
