package command

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/storelock"
)

// hint is what the user may do about a refusal. The library names no flags.
type hint struct {
	command string // the one that it is about; empty is any
	about   func(error) bool
	text    string
}

// hints stand in order; an error may get several.
func hints() []hint {
	return []hint{
		{"", is(flock.ErrLocked), "--" + flagLockWait + " 10m would wait for it"},
		{"", isUnreadableLock, "\"locking break --watch\" removes what cannot be read when it is stale, \"locking break --force\" now, with all others"},
		{"", is(errPresumablyInUse), "--" + flagForce + " removes it now"},
		{"", is(datastore.ErrSharedStore), "\"locking set shared\" is for several hosts, " +
			"\"locking set local --i-am-the-only-host\" says once for all that there is only this one"},
		{"", is(datastore.ErrMaintenance), "if that server does not run, --server-stopped says so, and goes on"},
		{"gc", isUnmounted, "if it does not belong there any more, --" + flagForgetMount + " DIR says so"},
		{"restore", is(datastore.ErrExists), "--" + flagOverwrite + " replaces it"},
		{"diff", is(datastore.ErrIncomparable), "--" + flagContent + " reads and compares both"},
		{"restore", isMkdir, "the directory above it has to be there"},
		{"restore", is(unix.ENOTDIR), "a directory tree needs a directory; --" + flagAsFile + " restores the archive itself, to a file"},
		{"", is(blob.ErrNeedKey), "--" + flagKeyfile + " names its file"},
		{"backup", is(datastore.ErrNotOwner), "--owner says who makes the backup"},
		{"backup", isNoNamespace, "\"namespace create\" makes it"},
		{"group move", isNoNamespace, "\"namespace create\" makes it"},
		{"namespace create", isNoNamespace, "--" + flagParents + " makes it too"},
		{"namespace remove", is(datastore.ErrNotEmpty), "--" + flagDeleteGroups + " removes them too"},
		{"group move", is(datastore.ErrExists), "--" + flagMerge + " adds the snapshots to a group that is there, if none has the time of another"},
		{"", is(unix.ENOSPC), "the disk is full: no room, or no inodes, are left on it"},
		{"", is(unix.EDQUOT), "a quota is used up"},
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isUnreadableLock(err error) bool {
	locked, ok := errors.AsType[*storelock.LockedError](err)
	return ok && slices.ContainsFunc(locked.Holders, func(i storelock.Info) bool { return i.Err != nil })
}

// isMkdir tells of a directory that can't be made where there is none to make it in.
func isMkdir(err error) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && path.Op == "mkdir" && errors.Is(err, fs.ErrNotExist)
}

func isUnmounted(err error) bool {
	_, ok := errors.AsType[*datastore.UnmountedError](err)
	return ok
}

func isNoNamespace(err error) bool {
	missing, ok := errors.AsType[*datastore.NotFoundError](err)
	return ok && missing.Kind == "namespace"
}

// hinted is the error's text with the hints that fit.
func (p *program) hinted(err error) string {
	var text strings.Builder
	text.WriteString(err.Error())
	for _, h := range hints() {
		switch {
		case h.command != "" && h.command != p.line.spelled(), !h.about(err):
		case p.settings.waited && errors.Is(err, flock.ErrLocked):
		default:
			text.WriteString(" (" + h.text + ")")
		}
	}
	return text.String()
}
