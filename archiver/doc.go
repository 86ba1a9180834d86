// Package archiver walks a directory and gives what is in it to a [Sink], in the order of an archive: as a
// backup of the directory takes it.
//
//	a, err := archiver.New(dir, archiver.Options{Exclude: patterns})
//	...
//	err = a.Run(ctx, sink)
//	...
//	a.Report() // what was left out, when the sink has finished
//
// # Trees that change, and hostile ones
//
// Everything is opened below the directory that holds it, by the open descriptor of that one, and no symbolic
// link is followed: whoever moves and replaces things meanwhile makes the walk see the one or the other, and
// never leads it elsewhere. What was opened is compared with what was looked at. Devices, FIFOs and sockets are
// never opened, only pinned. Automatic mounts are not triggered.
//
// A directory may hold anything and be as deep as it likes; descriptors are bounded, and memory is a few bytes for
// each entry of the directories on the way to the current one, which [Options.EntriesMax] bounds.
//
// # What can't be read
//
// What vanishes meanwhile is told. What can't be opened or listed is left out, told and counted, and so is a
// file whose first bytes can't be read: see [Warning]. A file that can't be read further on ends the run,
// for its size stands in the archive by then and whatever filled it up would look like its content. So do
// many such failures, which mean that the whole source is failing.
//
// # What is not promised
//
// A file that is written to while it is read may be a mixture of before and after, which is told where its size or its time of
// the last change shows it. Two files need not be of the same moment. Who needs that takes a snapshot of the file system.
package archiver
