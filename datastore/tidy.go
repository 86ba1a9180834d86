package datastore

import (
	"context"
	"errors"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// temporary matches the names under which owner and notes are written before they are renamed into place.
var temporary = regexp.MustCompile(`^(owner|notes)\.tmp_[A-Za-z0-9]{6}$`)

// tidyGroup takes an empty group away after its last snapshot. The snapshot is
// gone already, so nothing that goes wrong here is a failure: the empty group is
// kept, with a notice, and goes with the next removal.
func (d *Datastore) tidyGroup(ctx context.Context, disk *fsop.Disk, root *os.File, group backupinfo.Group, held *guards, report *RemovalReport) {
	removed, err := d.tryTidy(ctx, disk, root, group, held)
	switch {
	case errors.Is(err, flock.ErrLocked):
		d.opts.Events.notice(group.Dir(), "empty group kept: busy", err)
	case errors.Is(err, ErrNotFound): // somebody else tidied it away
	case err != nil:
		d.opts.Events.notice(group.Dir(), "empty group kept", err)
	case removed:
		report.Groups = append(report.Groups, group)
	}
}

func (d *Datastore) tryTidy(ctx context.Context, disk *fsop.Disk, root *os.File, group backupinfo.Group, held *guards) (bool, error) {
	// Most groups are not empty: see before locking, and look again under the lock.
	if empty, err := groupIsEmpty(root, group); err != nil || !empty {
		return false, err
	}
	if !held.holdsGroup {
		if _, err := lockGroup(held, root, group); err != nil {
			return false, err
		}
	}
	return removeEmptyGroup(ctx, disk, root, group)
}

// removeEmptyGroup takes a group without snapshots away. The caller holds its lock.
func removeEmptyGroup(ctx context.Context, disk *fsop.Disk, root *os.File, group backupinfo.Group) (bool, error) {
	empty, err := groupIsEmpty(root, group)
	if err != nil || !empty {
		return false, err
	}
	parent, err := beneath.OpenDir(root, path.Dir(group.Dir()))
	if err != nil {
		return false, err
	}
	defer parent.Close()
	known := decided{}
	known.add(group)
	gone, err := retireDecided(disk, root, parent, group.ID, group.Dir(), known)
	if err != nil {
		return false, err
	}
	return true, gone.dismantle(ctx, disk)
}

// groupIsEmpty tells whether nothing but what belongs to the group itself is
// left. A file that we don't know keeps the group.
func groupIsEmpty(root *os.File, group backupinfo.Group) (bool, error) {
	dir, err := beneath.OpenDir(root, group.Dir())
	if err != nil {
		return false, notFound(err, "group", group.Dir())
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !belongsToGroup(name) {
			return false, nil
		}
	}
	return true, nil
}

// belongsToGroup tells the names that a group has beside its snapshots.
func belongsToGroup(name string) bool {
	return name == backupinfo.OwnerName || name == backupinfo.NotesName ||
		temporary.MatchString(name) || strings.HasPrefix(name, leftoverPrefix)
}
