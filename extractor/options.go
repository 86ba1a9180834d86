package extractor

import (
	"os"
	"time"

	"github.com/pbs-like/pbs-like/exclude"
)

// Options are how a tree is restored. The zero value restores everything, and replaces nothing.
type Options struct {
	// Patterns select what is restored; none is everything. What is in a selected directory is selected, unless a pattern
	// excludes it. See [exclude.ParseSelection].
	Patterns exclude.List
	// Overwrite says what replaces something that is in its place, which is never a directory.
	Overwrite Overwrite
	// AllowExistingDirs restores into directories that are there, which is otherwise for the target alone. They get
	// the metadata of the archive's, unless they are only on the way to what was selected.
	AllowExistingDirs bool
	// Continue leaves alone what is there and equal. It implies AllowExistingDirs.
	Continue bool

	IgnoreOwnership   bool // what is restored belongs to who restores it
	IgnoreACLs        bool // no access lists
	IgnoreXattrs      bool // no extended attributes and no capabilities
	IgnorePermissions bool // files can be read by their owner only, and so can directories

	NoDeviceNodes, NoFIFOs, NoSockets bool

	// IgnoreDeviceErrors makes devices that can't be made no loss.
	IgnoreDeviceErrors bool
	// Strict ends the run at the first loss.
	Strict bool
	// NoSync does not wait until everything is on disk.
	NoSync bool
	// KeepOut are directories into which nothing is restored, wherever they are met.
	KeepOut []os.FileInfo
	// Workers is how many files are written at a time; zero is a few.
	Workers int

	Events Events
}

// Overwrite says, by the kind of the archive's entry, whether it replaces what is in its place.
type Overwrite struct {
	Files, Symlinks, Hardlinks bool
	// Others are devices, FIFOs and sockets.
	Others bool
}

// Events are told of what happens. Any may be nil; they are called one at a time, and must not block for long.
type Events struct {
	// Problem is called for each.
	Problem func(Problem)
	// Progress is called now and then.
	Progress func(Stats)
}

// Stats are what was done.
type Stats struct {
	Directories, Files, Symlinks, Hardlinks, Devices, FIFOs, Sockets uint64

	// Bytes is the content of the files, of which Holes are ranges of zeros that take no space.
	Bytes, Holes uint64
	// Unchanged are entries of all kinds but directories that were there already.
	Unchanged uint64
	// LinksCopied are hard links that became files of their own.
	LinksCopied uint64
	// Skipped are devices, FIFOs and sockets that were not wanted.
	Skipped uint64
	// Failed are entries that were not restored.
	Failed uint64
	// NotApplied counts pieces of metadata that could not be applied, by the name of the step, see package filemeta.
	NotApplied map[string]uint64
	// Losses are the problems that are one.
	Losses uint64
	// Damaged are those entries that failed because the archive is damaged.
	Damaged uint64
	// Unmatched are the places in Options.Patterns of those that select something, and that no entry matched.
	Unmatched []int
	Duration  time.Duration
}

// Restored is how many entries there are now that were restored, directories included.
func (s Stats) Restored() uint64 {
	return s.Directories + s.Files + s.Symlinks + s.Hardlinks + s.Devices + s.FIFOs + s.Sockets + s.Unchanged
}
