package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// RemoveOptions are how a snapshot is removed.
type RemoveOptions struct {
	// DryRun makes every check, and changes nothing.
	DryRun bool
	// Force takes no locks and does not ask for how long an unfinished snapshot
	// has been left alone. Protected snapshots stay all the same.
	Force bool
}

// RemovalReport is what a removal took away and what it kept.
type RemovalReport struct {
	// Namespaces are those that were removed, parents first.
	Namespaces []backupinfo.Namespace
	Groups     []backupinfo.Group
	Snapshots  []backupinfo.Snapshot
	// Protected are the snapshots that stayed because they are protected.
	Protected []backupinfo.Snapshot
	// Other are names in a removed group's directory that are no part of a group.
	Other []string
}

// RemoveSnapshot removes one snapshot, and its group with the last one. It is
// refused while anybody reads the snapshot, writes it or uses it as the base of
// a backup (flock.ErrLocked), and where it is protected ([ErrProtected]).
//
// A snapshot without a manifest may be removed once neither it nor its group is
// locked. If its writer was not this program, it must also have been left alone
// for a day, because that writer's locks may be where they can't be seen.
//
// After nil the removal is durable. After an error nothing has changed, or, where
// the report names the snapshot, it is out of the tree and only its remains are left.
func (d *Datastore) RemoveSnapshot(ctx context.Context, snapshot backupinfo.Snapshot, opts RemoveOptions) (report RemovalReport, err error) {
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return report, err
	}
	defer root.Close()
	if err := findSnapshot(root, snapshot); err != nil {
		return report, err
	}
	set, err := d.lockForRemoval(ctx, root, snapshot, opts.Force, d.acquire)
	if err != nil {
		return report, err
	}
	d.say(set, "remove", snapshot.Dir(), "")
	defer func() { err = errors.Join(err, set.Close()) }()
	if opts.DryRun {
		report.Snapshots = append(report.Snapshots, snapshot)
		return report, nil
	}
	err = removeSnapshot(ctx, disk, root, snapshot, set, &report)
	if err != nil {
		return report, err
	}
	d.tidyGroup(ctx, disk, root, snapshot.Group, set, &report)
	d.sweep(ctx, disk, root, snapshot.Group.Dir())
	return report, nil
}

// findSnapshot makes sure that every part of a snapshot's path exists, so that
// what is missing is named and never called locked.
func findSnapshot(root *os.File, snapshot backupinfo.Snapshot) error {
	group, err := openGroup(root, snapshot.Group)
	if err != nil {
		return err
	}
	defer group.Close()
	dir, err := beneath.OpenDir(group, snapshot.Time.String())
	if err != nil {
		return notFound(err, "snapshot", snapshot.Dir())
	}
	return dir.Close()
}

// lockForRemoval takes the locks that the state of the snapshot asks for, and
// looks at that state again under them: a manifest or a protection may have come
// in between.
func (d *Datastore) lockForRemoval(ctx context.Context, root *os.File, snapshot backupinfo.Snapshot, force bool, acquire acquirer) (set *guards, err error) {
	for range attempts {
		set, err = tryLockForRemoval(ctx, root, snapshot, force, acquire)
		if !errors.Is(err, errCommitted) {
			break
		}
	}
	return set, err
}

// errCommitted says that a snapshot was finished between the look at it and its lock.
var errCommitted = errors.New("has just been finished")

func tryLockForRemoval(ctx context.Context, root *os.File, snapshot backupinfo.Snapshot, force bool, acquire acquirer) (*guards, error) {
	return acquire(ctx, func(set *guards) error {
		finished, err := exists(root, manifestPath(snapshot))
		if err != nil {
			return err
		}
		return lockAsSeen(set, root, snapshot, finished, force)
	})
}

func manifestPath(snapshot backupinfo.Snapshot) string {
	return path.Join(snapshot.Dir(), backupinfo.ManifestName)
}

// lockAsSeen locks a snapshot that was seen finished, or unfinished, and looks again.
func lockAsSeen(set *guards, root *os.File, snapshot backupinfo.Snapshot, finished, force bool) error {
	if !force {
		if err := lockSnapshotForRemoval(set, root, snapshot, finished); err != nil {
			return err
		}
	}
	if now, err := exists(root, manifestPath(snapshot)); err != nil || now != finished {
		return errors.Join(err, fmt.Errorf("snapshot %q %w", snapshot.Dir(), errCommitted))
	}
	if err := checkUnprotected(root, snapshot); err != nil {
		return err
	}
	if finished || force {
		return nil
	}
	return checkAbandoned(root, snapshot, time.Now())
}

func lockSnapshotForRemoval(set *guards, root *os.File, snapshot backupinfo.Snapshot, finished bool) error {
	if !finished {
		// A new snapshot is made before it can be locked, but never without its group's lock.
		if _, err := lockGroup(set, root, snapshot.Group); err != nil {
			return err
		}
	}
	if _, err := lockSnapshot(set, root, snapshot); err != nil {
		return err
	}
	if !finished {
		return nil
	}
	_, err := lockManifest(set, root, snapshot)
	if errors.Is(err, beneath.ErrNotRegular) {
		return nil // something was planted there, which nobody can rewrite
	}
	return err
}

func checkUnprotected(root *os.File, snapshot backupinfo.Snapshot) error {
	protected, err := exists(root, path.Join(snapshot.Dir(), backupinfo.ProtectedName))
	if err != nil {
		return err
	}
	if !protected {
		return nil
	}
	refusal := &ProtectedError{Snapshots: []string{snapshot.Dir()}}
	if dir, err := beneath.OpenDir(root, snapshot.Dir()); err == nil {
		refusal.Protection = readProtection(dir)
		_ = dir.Close() // only read from
	}
	return refusal
}

// removeSnapshot takes one snapshot away. The caller holds its locks, or answers for doing without.
func removeSnapshot(ctx context.Context, disk *fsop.Disk, root *os.File, snapshot backupinfo.Snapshot, held *guards, report *RemovalReport) error {
	group, err := beneath.OpenDir(root, snapshot.Group.Dir())
	if err != nil {
		return notFound(err, "group", snapshot.Group.Dir())
	}
	defer group.Close()
	gone, err := retire(disk, root, group, snapshot.Time.String())
	if gone.taken() {
		report.Snapshots = append(report.Snapshots, snapshot)
	}
	if err != nil {
		return notFound(err, "snapshot", snapshot.Dir())
	}
	if err := errors.Join(held.closeInside(), gone.dismantle(ctx, disk)); err != nil {
		return fmt.Errorf("snapshot %q is removed, its remains are not: %w", snapshot.Dir(), err)
	}
	return nil
}

// abandonedAfter is for how long nothing may have changed in the unfinished
// snapshot of a foreign writer before it counts as left behind.
const abandonedAfter = 24 * time.Hour

// checkAbandoned decides whether an unfinished snapshot, whose locks the caller
// holds, has no writer. If we began it, the locks are the answer.
func checkAbandoned(root *os.File, snapshot backupinfo.Snapshot, now time.Time) error {
	ours, err := exists(root, path.Join(snapshot.Dir(), writerMark))
	if ours || err != nil {
		return err
	}
	changed, err := lastChange(root, snapshot.Dir())
	if err != nil {
		return err
	}
	if age := now.Sub(changed); age < abandonedAfter {
		return fmt.Errorf("snapshot %q is %w and changed %s ago: its writer may be a server whose locks are out of sight; wait until %s, or remove that snapshot by force",
			snapshot.Dir(), ErrUnfinished, age.Round(time.Second), changed.Add(abandonedAfter).Format(time.RFC3339))
	}
	return nil
}

// lastChange is the newest change of a directory or of anything right in it.
// The change time counts too: it can't be set back.
func lastChange(root *os.File, name string) (time.Time, error) {
	dir, err := beneath.OpenDir(root, name)
	if err != nil {
		return time.Time{}, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return time.Time{}, err
	}
	var newest time.Time
	for _, entry := range append(names, ".") {
		stat, err := beneath.Stat(dir, entry)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return time.Time{}, err
		}
		for _, stamp := range []time.Time{time.Unix(stat.Mtim.Unix()), time.Unix(stat.Ctim.Unix())} {
			if stamp.After(newest) {
				newest = stamp
			}
		}
	}
	return newest, nil
}
