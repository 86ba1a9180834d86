package mount

import (
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/keys"
)

// Options are what is mounted, and how.
type Options struct {
	// Namespace is what the whole tree begins at, where no snapshot is given; the root namespace by default.
	Namespace backupinfo.Namespace
	// Snapshot is the only one that is shown. Nil is all.
	Snapshot *backupinfo.Snapshot
	// Archive is the only one of the snapshot that is shown: a directory tree is then the root itself. The zero value is all.
	Archive backupinfo.ArchiveName
	// Key opens what is encrypted.
	Key *keys.Key
	// Raw shows the archives of directory trees as files, as they are.
	Raw bool
	// AllowOther lets other users in. What a tree's modes deny them is denied then. The configuration
	// of fusermount3 has to allow it where the mounting user is not root.
	AllowOther bool
	// Idle is for how long a snapshot stays locked after its last use. The default is 5 s.
	Idle time.Duration
	// Cache is how many bytes of chunks are remembered. The default is 64 MiB. A chunk that is being read counts when it is there.
	Cache int64
	// Events tell what the callers of a file system can't be told.
	Events Events
}

const (
	defaultIdle  = 5 * time.Second
	defaultCache = 64 << 20
)

func (o Options) idle() time.Duration {
	if o.Idle <= 0 {
		return defaultIdle
	}
	return o.Idle
}

func (o Options) cache() int64 {
	if o.Cache <= 0 {
		return defaultCache
	}
	return o.Cache
}

// Events are functions that tell what happens in a mounted file system. Each may be nil. They are called
// on the goroutines that serve requests, several at a time.
type Events struct {
	// Problem is called where a request fails for a reason that its error number does not tell. The same
	// problem is told once a minute at most.
	Problem func(path string, err error)
	// Hidden is called where a directory that was listed to its end has entries that can't be
	// shown, with their number and the reason of the first one.
	Hidden func(path string, count int, first error)
	// Cleared is called where what a mount that was killed has left at the mount point was taken away.
	Cleared func(mountPoint string)
}
