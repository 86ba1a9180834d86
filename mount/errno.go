package mount

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/keys"
	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/storelock"
)

// errStale means that something is not any more what it was when it was looked up.
var errStale = errors.New("it was removed or replaced since it was looked up")

// errnoOf is the table from errors to error numbers. The first in it counts.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return syscall.EINTR
	case errors.Is(err, errStale), errors.Is(err, flock.ErrChanged), errors.Is(err, storelock.ErrLost), errors.Is(err, storelock.ErrNotLocked):
		return syscall.ESTALE
	case errors.Is(err, flock.ErrLocked), errors.Is(err, storelock.ErrTimeout), errors.Is(err, datastore.ErrMaintenance):
		return syscall.EBUSY
	case errors.Is(err, blob.ErrNeedKey):
		return unix.ENOKEY
	case errors.Is(err, blob.ErrWrongKey) && !errors.Is(err, datastore.ErrCorrupt), errors.Is(err, keys.ErrSignature):
		return unix.EKEYREJECTED
	case errors.Is(err, datastore.ErrCorrupt), errors.Is(err, pxar.ErrCorrupt), errors.Is(err, pxar.ErrNoPayload):
		return syscall.EIO
	case errors.Is(err, datastore.ErrNotMounted):
		return unix.ENOMEDIUM
	case errors.Is(err, datastore.ErrNotFound), errors.Is(err, datastore.ErrUnfinished), errors.Is(err, pxar.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, pxar.ErrNotDirectory):
		return syscall.ENOTDIR
	case errors.As(err, &errno):
		return errno
	}
	return syscall.EIO
}

// isOrdinary are error numbers that say all there is to say.
func isOrdinary(errno syscall.Errno) bool {
	return errno == 0 || errno == syscall.ENOENT || errno == syscall.EINTR || errno == syscall.ENOTDIR
}
