package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// checkMerge makes sure that two groups can become one without a loss. Both are locked.
func (m *groupMove) checkMerge(other []string) error {
	if len(other) > 0 {
		return fmt.Errorf("group %q holds what is no part of a group: %q: move it away first", m.from.Dir(), other)
	}
	var clashes []string
	for _, snapshot := range m.snapshots {
		there, err := exists(m.root, m.relocated(snapshot).to.Dir())
		if err != nil {
			return err
		}
		if there {
			clashes = append(clashes, snapshot.Time.String())
		}
	}
	if len(clashes) > 0 {
		return fmt.Errorf("group %q: snapshots of the same times %w: %q", m.to.Dir(), ErrExists, clashes)
	}
	return m.withGroups(func(from, to *os.File) error {
		_, err := m.newNotes(from, to)
		return errors.Join(m.checkOwners(from, to), err)
	})
}

func (m *groupMove) withGroups(do func(from, to *os.File) error) error {
	from, err := beneath.OpenDir(m.root, m.from.Dir())
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := beneath.OpenDir(m.root, m.to.Dir())
	if err != nil {
		return err
	}
	defer to.Close()
	return do(from, to)
}

func (m *groupMove) checkOwners(from, to *os.File) error {
	owner, err := readOwner(from)
	if err != nil {
		return fmt.Errorf("group %q: %w", m.from.Dir(), err)
	}
	other, err := readOwner(to)
	if err != nil {
		return fmt.Errorf("group %q: %w", m.to.Dir(), err)
	}
	if owner != other {
		return fmt.Errorf("group %q is %w: %q, and group %q belongs to %q", m.to.Dir(), ErrNotOwner, other, m.from.Dir(), owner)
	}
	return nil
}

// newNotes gives the notes that the target has yet to get. Of two different ones
// none may be lost, so that somebody has to decide.
func (m *groupMove) newNotes(from, to *os.File) ([]byte, error) {
	moving, err := notesOf(from)
	if err != nil {
		return nil, err
	}
	staying, err := notesOf(to)
	switch {
	case err != nil:
		return nil, err
	case len(moving) == 0, string(moving) == string(staying):
		return nil, nil
	case len(staying) > 0:
		return nil, fmt.Errorf("groups %q and %q have different notes: make them the same first, or take those of one away", m.from.Dir(), m.to.Dir())
	}
	return moving, nil
}

func notesOf(group *os.File) ([]byte, error) {
	notes, err := readBounded(group, backupinfo.NotesName, maxNotesSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return notes, err
}

// merge moves the snapshots, and takes the group away that is empty then.
func (m *groupMove) merge(ctx context.Context) (report MoveReport, err error) {
	report.Merged = true
	err = m.withGroups(func(from, to *os.File) error {
		if err := errors.Join(m.mergeSnapshots(ctx, from, to, &report), m.sync(from, to)); err != nil {
			return err
		}
		// Not before: a first rename that fails has changed nothing. Until the source goes it has them too.
		return m.mergeNotes(from, to)
	})
	if err != nil {
		return report, m.halfway(len(report.Snapshots), err)
	}
	report.Groups = append(report.Groups, m.to)
	return report, m.removeSource(ctx)
}

func (m *groupMove) mergeNotes(from, to *os.File) error {
	notes, err := m.newNotes(from, to)
	if err == nil && notes != nil {
		err = m.disk.WriteFile(to, backupinfo.NotesName, notes, fileMode)
	}
	return err
}

// halfway says how far a merge came that failed.
func (m *groupMove) halfway(moved int, err error) error {
	switch {
	case moved == 0:
		return err
	case moved == len(m.snapshots):
		return fmt.Errorf("all snapshots are in group %q now, what else belongs to %q is still there: %w", m.to.Dir(), m.from.Dir(), err)
	}
	return fmt.Errorf("%d of %d snapshots are in group %q now, the others still in %q: %w", moved, len(m.snapshots), m.to.Dir(), m.from.Dir(), err)
}

// mergeSnapshots stops at the first one that resists.
func (m *groupMove) mergeSnapshots(ctx context.Context, from, to *os.File, report *MoveReport) error {
	for i, snapshot := range m.snapshots {
		name := snapshot.Time.String()
		moved := m.relocated(snapshot)
		err := m.rename(ctx, from, name, to, name, moved)
		// A rename can fail after it was done, as one over a network can.
		if still, look := exists(from, name); err == nil || look == nil && !still {
			report.Snapshots = append(report.Snapshots, moved.to)
		}
		if err != nil {
			return taken(err, "snapshot", path.Join(m.to.Dir(), name))
		}
		m.store.opts.Events.progress(Progress{
			Operation: "move", Object: m.from.Dir(), Done: uint64(i + 1), Total: uint64(len(m.snapshots)), Items: true,
		})
	}
	return nil
}

// removeSource takes the empty group away. All renames out of it are on disk.
func (m *groupMove) removeSource(ctx context.Context) error {
	removed, err := removeEmptyGroup(ctx, m.disk, m.root, m.from)
	if err != nil {
		return fmt.Errorf("group %q is merged, and could not be removed: %w", m.from.Dir(), err)
	}
	if !removed {
		m.store.opts.Events.notice(m.from.Dir(), "group kept: something that is no part of it has come to be in it", nil)
	}
	return nil
}
