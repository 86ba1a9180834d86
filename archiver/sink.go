package archiver

import (
	"io"

	"github.com/pbs-like/pbs-like/pxar"
)

// Sink takes a tree in the order of the archive. An error of any method ends the run.
type Sink interface {
	// Begin takes the root. Once, first.
	Begin(root *pxar.Metadata) error
	// Add takes an entry without content: a directory (which is entered by it), symbolic link, device, FIFO, socket.
	Add(name string, e *pxar.Entry) error
	// AddFile takes a regular file. content gives exactly size bytes, or an error that ends the backup; it is owned by the sink from here
	// on, which closes it exactly once, perhaps much later, also after an error and when it was not read. linked tells that Link may
	// refer to the file. Until it is closed it may hold a descriptor.
	AddFile(name string, m *pxar.Metadata, size uint64, content io.ReadCloser, linked bool) error
	// Link takes a further name of a file that was given as linked; target is the first one's path below the root, without a leading "/".
	Link(name, target string) error
	// Leave ends the directory that was entered last (not the root).
	Leave() error
}
