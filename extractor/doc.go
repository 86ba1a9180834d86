// Package extractor restores a directory tree from a pxar archive.
//
//	stats, err := extractor.Extract(ctx, archive, "/srv/restored", extractor.Options{})
//
// # Nothing outside of the target
//
// Whatever an archive says, and whoever changes the target meanwhile, nothing outside of it changes: every call names one part
// of a path, in a directory whose descriptor was got by making it or by opening it without following a link. A hard link
// leads only to a file that this run has restored, found again without passing a symbolic link. Names
// that no archive may have, and names that come twice in a directory, are refused, and named.
//
// # Nothing half
//
// Each entry is made under a temporary name (".pbs-like-restore-" and a number) in its directory, readable by nobody else, gets its content and its metadata
// there, and then its name: a name stands for a whole file, with its owner before its permissions. Something that is to be replaced is there until
// then; of a file with several names, only the one that is restored is replaced. Chattr flags alone come after the
// name. A directory gets its metadata when everything in it is done, also when the run ends early. Before the end
// all is synced; without that, and after a power cut, the file system decides what is whole.
//
// With [Options].Continue a run goes on where another one ended: what is there, and has the size, the time and the
// metadata of the archive's, is left alone; where only the metadata differs, it is applied again; what else differs is in the way.
//
// # What goes wrong
//
// An entry or a piece of metadata that can't be restored is a [Problem]; the others are restored all the same, and [Stats] has the
// count. A problem is a loss where something is missing that the user would miss:
//
//	a loss            an entry; permissions, times; attributes, access lists, capabilities
//	no loss           chattr flags and quota projects, which are the file system's own way to keep files
//	without root      owners, set-user-ID bits of files of others, capabilities, trusted attributes: no loss either
//
// A hard link that can't be made becomes a file of its own, which is counted and no loss. A full disk ends the run.
//
// # What is read
//
// The tables at the end of directories, and the entries: the contents only of what is restored. Where patterns begin with a slash, directories in which nothing
// can match are not looked at, and of others only the names that can. A damaged entry costs itself alone. Memory is for one entry, a few buffers, the tables of the
// directories that one is in, and 16 bytes for each file.
package extractor
