package command

import (
	"context"
	"errors"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/storelock"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPartly      = 3
	exitNotFound    = 10
	exitLocked      = 11
	exitCorrupt     = 12
	exitProtected   = 13
	exitLockLost    = 14
	exitInterrupted = 130
)

// exitCodeMeaning is one row of the documentation.
type exitCodeMeaning struct {
	code    int
	meaning string
}

// exitCodes documents the codes, in the manual page and the README.
func exitCodes() []exitCodeMeaning {
	return []exitCodeMeaning{
		{exitDone, "done"},
		{exitFailed, "failed"},
		{exitUsage, "the command line cannot be carried out as it stands; nothing was done"},
		{exitPartly, "done in part: something was kept or could not be read, and the output names it; of diff --exit-code: not equal"},
		{exitNotFound, "no such datastore, namespace, group, snapshot, archive or file in it"},
		{exitLocked, "in use: somebody holds a lock, and the message says who; or unfinished, and presumably in use; or in maintenance"},
		{exitCorrupt, "stored data is damaged"},
		{exitProtected, "protected, or the group or the store is owned by somebody else"},
		{exitLockLost, "a lock was lost while it was held; what was begun was given up"},
		{exitInterrupted, "interrupted by a signal, after cleaning up"},
	}
}

// errPartly means that a command did a part of what was asked.
var errPartly = errors.New("done in part")

// errPresumablyInUse marks the refusal to remove a snapshot whose writer may be at
// work, with locks that can't be seen. It adds nothing to the message.
var errPresumablyInUse = errors.New("")

// errUnseenWriter is the same where there is no flag to do it all the same.
var errUnseenWriter = errors.New("")

// exitCode is the table from errors to exit codes. Where an error is of several
// classes the first in this list counts: what the caller has to do something
// about stands above what merely describes.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	var usage *usageError
	var ran *childError
	switch {
	case errors.Is(err, storelock.ErrLost):
		return exitLockLost
	case errors.As(err, &ran):
		return ran.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errPartly), errors.Is(err, errDiffers):
		return exitPartly
	case errors.Is(err, flock.ErrChanged), errors.Is(err, storelock.ErrLost), errors.Is(err, storelock.ErrNotLocked):
		return exitLockLost
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, flock.ErrLocked), errors.Is(err, storelock.ErrTimeout),
		errors.Is(err, errPresumablyInUse), errors.Is(err, errUnseenWriter), errors.Is(err, datastore.ErrMaintenance):
		return exitLocked
	case errors.Is(err, datastore.ErrCorrupt), errors.Is(err, pxar.ErrCorrupt), errors.Is(err, pxar.ErrNoPayload):
		return exitCorrupt
	case errors.Is(err, datastore.ErrProtected), errors.Is(err, datastore.ErrNotOwner), errors.Is(err, datastore.ErrWrongUser):
		return exitProtected
	case errors.Is(err, datastore.ErrNotFound), errors.Is(err, datastore.ErrNotDatastore),
		errors.Is(err, pxar.ErrNotFound), errors.Is(err, pxar.ErrNotDirectory):
		return exitNotFound
	}
	return exitFailed
}
