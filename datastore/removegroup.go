package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// RemoveGroupOptions are how a group is removed.
type RemoveGroupOptions struct {
	// DryRun makes every check, and changes nothing.
	DryRun bool
	// Force takes no locks, and does not ask for how long unfinished snapshots have been left alone.
	Force bool
	// KeepProtected removes the other snapshots where some are protected. Without it these make the removal refuse.
	KeepProtected bool
}

// RemoveGroup removes a group with all its snapshots. It is all or nothing: the
// locks of the group and of every snapshot are had before anything is touched,
// and the group then goes by one rename. Where one snapshot is in use
// (flock.ErrLocked) or protected ([ErrProtected]) nothing has changed.
//
// With KeepProtected, and a protected snapshot, the others go one by one; the
// report names what went and what stayed.
func (d *Datastore) RemoveGroup(ctx context.Context, group backupinfo.Group, opts RemoveGroupOptions) (report RemovalReport, err error) {
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return report, err
	}
	defer root.Close()
	if dir, err := openGroup(root, group); err != nil {
		return report, err
	} else if err := dir.Close(); err != nil {
		return report, err
	}
	var content groupContent
	set, err := d.acquire(ctx, func(set *guards) (err error) {
		content, err = lockWholeGroup(ctx, set, root, group, opts)
		return err
	})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	d.say(set, "remove", group.Dir(), "")
	report.Protected = content.protected
	if opts.DryRun {
		return content.planned(group), nil
	}
	if len(content.protected) > 0 {
		err = d.removeUnprotected(ctx, disk, root, content, &report)
	} else {
		err = removeWholeGroup(ctx, disk, root, group, content, &report)
	}
	if err == nil {
		d.sweep(ctx, disk, root, group.Dir(), path.Dir(group.Dir()))
	}
	return report, err
}

// groupContent is what was found in a group under its lock.
type groupContent struct {
	snapshots []backupinfo.Snapshot // all that may go
	protected []backupinfo.Snapshot
	other     []string // what is no part of a group
}

func (c groupContent) planned(group backupinfo.Group) RemovalReport {
	report := RemovalReport{Snapshots: c.snapshots, Protected: c.protected}
	if len(c.protected) == 0 {
		report.Groups = []backupinfo.Group{group}
		report.Other = c.other
	}
	return report
}

// lockWholeGroup takes L2 and every L3 of a group, and decides under them.
func lockWholeGroup(ctx context.Context, set *guards, root *os.File, group backupinfo.Group, opts RemoveGroupOptions) (content groupContent, err error) {
	if !opts.Force {
		if _, err := lockGroup(set, root, group); err != nil {
			return content, err
		}
	}
	return lockContent(ctx, set, root, group, opts)
}

// lockContent takes every L3 of a group whose L2 is held.
func lockContent(ctx context.Context, set *guards, root *os.File, group backupinfo.Group, opts RemoveGroupOptions) (content groupContent, err error) {
	names, err := groupEntries(root, group)
	if err != nil {
		return content, err
	}
	if err := enoughDescriptors(set.size() + len(names)*set.perSnapshot()); err != nil && !opts.Force {
		return content, err
	}
	var busy []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return content, err
		}
		refused, err := content.add(set, root, group, name, opts.Force)
		if err != nil {
			return content, err
		}
		busy = append(busy, refused...)
	}
	if len(busy) > 0 {
		return content, errors.Join(busy...)
	}
	return content, content.checkProtected(opts.KeepProtected)
}

// add looks at one entry of the group and locks it if it is a snapshot. A
// refusal is given back apart from errors, so that all holders can be named.
func (c *groupContent) add(set *guards, root *os.File, group backupinfo.Group, name string, force bool) (refused []error, err error) {
	time, isSnapshot, err := snapshotEntry(root, group, name)
	if errors.Is(err, errVanished) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !isSnapshot {
		if !belongsToGroup(name) {
			c.other = append(c.other, name)
		}
		return nil, nil
	}
	snapshot := backupinfo.Snapshot{Group: group, Time: time}
	if !force {
		err := lockAndCheck(set, root, snapshot)
		switch {
		case errors.Is(err, ErrNotFound): // removed on its own since we looked
			return nil, nil
		case errors.Is(err, flock.ErrLocked), errors.Is(err, ErrUnfinished):
			return []error{err}, nil
		case err != nil:
			return nil, err
		}
	}
	protected, err := exists(root, path.Join(snapshot.Dir(), backupinfo.ProtectedName))
	if protected {
		c.protected = append(c.protected, snapshot)
	} else {
		c.snapshots = append(c.snapshots, snapshot)
	}
	return nil, err
}

func lockAndCheck(set *guards, root *os.File, snapshot backupinfo.Snapshot) error {
	if _, err := lockSnapshot(set, root, snapshot); err != nil {
		return err
	}
	finished, err := exists(root, path.Join(snapshot.Dir(), backupinfo.ManifestName))
	if err != nil || finished {
		return err
	}
	return checkAbandoned(root, snapshot, time.Now())
}

func (c *groupContent) checkProtected(keep bool) error {
	if keep || len(c.protected) == 0 {
		return nil
	}
	names := make([]string, 0, len(c.protected))
	for _, snapshot := range c.protected {
		names = append(names, snapshot.Dir())
	}
	return &ProtectedError{Snapshots: names}
}

// groupEntries lists everything in a group's directory.
func groupEntries(root *os.File, group backupinfo.Group) ([]string, error) {
	dir, err := openGroup(root, group)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// errVanished is for an entry that was removed on its own since the group was read.
var errVanished = errors.New("vanished")

// snapshotEntry tells whether an entry of a group is a snapshot: a directory with
// the name of a time. A mount point makes the removal refuse: the rename would
// carry the mounted disk along.
func snapshotEntry(root *os.File, group backupinfo.Group, name string) (backupinfo.Time, bool, error) {
	stat, err := beneath.Stat(root, path.Join(group.Dir(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, errVanished
	}
	if err != nil {
		return 0, false, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return 0, false, nil
	}
	dir, err := beneath.Stat(root, group.Dir())
	if err != nil {
		return 0, false, err
	}
	if stat.Dev != dir.Dev {
		return 0, false, fmt.Errorf("%q is on a file system of its own: unmount it first", path.Join(group.Dir(), name))
	}
	time, err := backupinfo.ParseTime(name)
	if err != nil && backupinfo.MatchTime(name) {
		// It may be a snapshot to somebody else, with locks and a protection of its own.
		return 0, false, fmt.Errorf("%q looks like a snapshot and is none: move it away first: %w", path.Join(group.Dir(), name), err)
	}
	return time, err == nil, nil
}

// spareDescriptors are those that a removal needs beside its locks.
const spareDescriptors = 64

// enoughDescriptors raises the soft limit of open files as far as the locks of a
// group need it, and refuses where the hard one is too low: letting go of some
// locks on the way would make the removal less than all or nothing.
func enoughDescriptors(locks int) error {
	need := uint64(locks) + spareDescriptors
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Cur >= need {
		return nil
	}
	if limit.Max < need {
		return fmt.Errorf("%d locks have to be held at once, which needs %d open files, and the hard limit is %d: raise it (ulimit -Hn)",
			locks, need, limit.Max)
	}
	limit.Cur = need
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}

func removeWholeGroup(ctx context.Context, disk *fsop.Disk, root *os.File, group backupinfo.Group, content groupContent, report *RemovalReport) error {
	parent, err := beneath.OpenDir(root, path.Dir(group.Dir()))
	if err != nil {
		return err
	}
	defer parent.Close()
	known := decided{}
	known.add(group, content.snapshots...)
	gone, err := retireDecided(disk, root, parent, group.ID, group.Dir(), known)
	if gone.taken() {
		report.Groups = append(report.Groups, group)
		report.Snapshots = append(report.Snapshots, content.snapshots...)
		report.Other = append(report.Other, content.other...)
	}
	if err != nil {
		return notFound(err, "group", group.Dir())
	}
	if err := gone.dismantle(ctx, disk); err != nil {
		return fmt.Errorf("group %q is removed, its remains are not: %w", group.Dir(), err)
	}
	return nil
}

// removeUnprotected removes the snapshots that may go, one by one. One that
// resists does not stop the rest.
func (d *Datastore) removeUnprotected(ctx context.Context, disk *fsop.Disk, root *os.File, content groupContent, report *RemovalReport) error {
	var failed error
	for i, snapshot := range content.snapshots {
		if err := ctx.Err(); err != nil {
			return errors.Join(failed, err)
		}
		failed = errors.Join(failed, removeSnapshot(ctx, disk, root, snapshot, nil, report))
		d.opts.Events.progress(Progress{
			Operation: "remove", Object: snapshot.Group.Dir(),
			Done: uint64(i + 1), Total: uint64(len(content.snapshots)), Items: true,
		})
	}
	return failed
}
