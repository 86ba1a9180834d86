package datastore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// MoveOptions are how a group is moved.
type MoveOptions struct {
	// DryRun makes every check, and changes nothing.
	DryRun bool
	// Merge adds the snapshots to a group of that name which is there already.
	// Both must have one owner, no snapshot may have the time of another one, and
	// if both groups have notes these must be the same.
	Merge bool
}

// MoveGroup moves a group, with its owner, its notes and all its snapshots, to
// another namespace, which has to exist. It is refused while the group or one of
// its snapshots is in use (flock.ErrLocked), or is being written by somebody whose
// locks can't be seen ([ErrUnfinished]), and where the target has such a group
// ([ErrExists]), unless it is to be merged. A protection hinders nothing, and is
// kept: a move loses nothing. A group on a file system of its own can't be moved.
//
// The group moves by one rename. A merge moves one snapshot after the other, the
// oldest first, after everything was checked and locked. After nil the move is
// durable. After an error, or a crash, nothing has changed, or, as the report says,
// some snapshots have moved; each is in one of the two groups, whole. Notes move after
// the last of them, and then the group goes. The same call moves the rest, with Merge.
func (d *Datastore) MoveGroup(ctx context.Context, group backupinfo.Group, target backupinfo.Namespace, opts MoveOptions) (report MoveReport, err error) {
	if err := group.Validate(); err != nil {
		return report, err
	}
	if target == group.Namespace {
		return report, fmt.Errorf("group %q is in that namespace already: it %w there", group.Dir(), ErrExists)
	}
	m := groupMove{from: group, to: backupinfo.Group{Namespace: target, Type: group.Type, ID: group.ID}, opts: opts}
	if m.move, err = d.openMove(); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := m.find(); err != nil {
		return report, err
	}
	if err := m.lock(ctx, func(set *guards) error { return m.take(ctx, set) }); err != nil {
		return report, err
	}
	switch {
	case opts.DryRun:
		return m.planned(), nil
	case m.merging:
		return m.merge(ctx)
	}
	return m.run(ctx)
}

type groupMove struct {
	move

	from, to backupinfo.Group
	opts     MoveOptions
	// What was found under the locks.
	merging   bool
	guard     *flock.ExclusiveGuard // of the group that moves
	snapshots []backupinfo.Snapshot // oldest first
}

// find names what is missing, or there and not to be merged, before anything is called locked.
func (m *groupMove) find() error {
	if err := findGroup(m.root, m.from); err != nil {
		return err
	}
	if err := checkNamespace(m.root, m.to.Namespace); err != nil {
		return err
	}
	there, err := exists(m.root, m.to.Dir())
	if there && !m.opts.Merge {
		return fmt.Errorf("group %q %w", m.to.Dir(), ErrExists)
	}
	return err
}

// take takes L6 shared, L2 of both groups in the order of their names, and L3 of
// every snapshot that moves, to a server also under its new name. Those that the
// target has already stay where they are, and none of theirs is taken.
func (m *groupMove) take(ctx context.Context, set *guards) error {
	if err := lockTreeShared(set, m.root); err != nil {
		return err
	}
	if err := m.find(); err != nil {
		return err
	}
	if err := m.takeGroups(set); err != nil {
		return err
	}
	if err := m.checkDisk(); err != nil {
		return err
	}
	content, err := lockContent(ctx, set, m.root, m.from, RemoveGroupOptions{KeepProtected: true})
	if err != nil {
		return err
	}
	m.snapshots = slices.Concat(content.snapshots, content.protected)
	slices.SortFunc(m.snapshots, backupinfo.Snapshot.Compare)
	if m.merging {
		if err := m.checkMerge(content.other); err != nil {
			return err
		}
	}
	return set.alsoPlaces(m.root, nil, m.moves())
}

func (m *groupMove) takeGroups(set *guards) (err error) {
	m.merging = false
	groups := []backupinfo.Group{m.from, m.to}
	slices.SortFunc(groups, func(a, b backupinfo.Group) int { return strings.Compare(a.Dir(), b.Dir()) })
	for _, group := range groups {
		guard, err := lockGroup(set, m.root, group)
		switch {
		case group == m.to && errors.Is(err, ErrNotFound):
			// Whoever made it since is noticed: the rename overwrites nothing.
			if err := set.alsoGroup(m.root, group, flock.Exclusive); err != nil {
				return err
			}
		case err != nil:
			return err
		case group == m.to:
			m.merging = true
		default:
			m.guard = guard
		}
	}
	return nil
}

// checkDisk compares the group with the places between which it is to be renamed.
func (m *groupMove) checkDisk() error {
	from := path.Dir(m.from.Dir())
	return m.checkSameDisk(m.from.Dir(), from, m.to.Dir(), path.Dir(m.to.Dir()), path.Join(".", m.to.Namespace.Dir()))
}

// planned is the report of a move in which all goes well.
func (m *groupMove) planned() MoveReport {
	report := MoveReport{Groups: []backupinfo.Group{m.to}, Merged: m.merging}
	for _, snapshot := range m.snapshots {
		report.Snapshots = append(report.Snapshots, m.relocated(snapshot).to)
	}
	return report
}

func (m *groupMove) relocated(snapshot backupinfo.Snapshot) relocation {
	return relocation{from: snapshot, to: backupinfo.Snapshot{Group: m.to, Time: snapshot.Time}}
}

// moves are the snapshots with their new names.
func (m *groupMove) moves() []relocation {
	moves := make([]relocation, 0, len(m.snapshots))
	for _, snapshot := range m.snapshots {
		moves = append(moves, m.relocated(snapshot))
	}
	return moves
}

// run moves the group as a whole.
func (m *groupMove) run(ctx context.Context) (report MoveReport, err error) {
	from, err := beneath.OpenDir(m.root, path.Dir(m.from.Dir()))
	if err != nil {
		return report, err
	}
	defer from.Close()
	to, err := makeTypeDir(m.disk, m.root, m.to)
	if err != nil {
		return report, err
	}
	defer to.Close()
	err = m.rename(ctx, from, m.from.ID, to, m.to.ID, m.moves()...)
	if leadsTo(to, m.to.ID, m.guard.File()) == nil {
		report = m.planned() // also where the rename failed after it was done, as one over a network can
	}
	if err == nil {
		err = m.sync(from, to)
	}
	if err != nil {
		return report, fmt.Errorf("group %q: %w", m.from.Dir(), taken(err, "group", m.to.Dir()))
	}
	return report, nil
}
