package datastore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// MoveNamespaceOptions are how a namespace is moved.
type MoveNamespaceOptions struct {
	// DryRun makes every check, and changes nothing.
	DryRun bool
}

// MoveNamespace gives a namespace another name, with all that is in and below it,
// by one rename. The namespace above the new name has to exist ([ErrNotFound]), the
// new one itself must not ([ErrExists]): namespaces are not merged. It is refused
// while anything in it is in use (flock.ErrLocked), or is being written by somebody
// whose locks can't be seen ([ErrUnfinished]), and where a name below it would
// become too deep or too long.
//
// After nil the move is durable. After an error nothing has changed, or, where the
// report names the namespace, it has its new name.
func (d *Datastore) MoveNamespace(ctx context.Context, from, to backupinfo.Namespace, opts MoveNamespaceOptions) (report MoveReport, err error) {
	switch {
	case from.IsRoot() || to.IsRoot():
		return report, errors.New("the root namespace can't be moved, nor can another one take its place")
	case from == to:
		return report, fmt.Errorf("namespace %q %w: it is the same one", to, ErrExists)
	case from.Contains(to):
		return report, fmt.Errorf("namespace %q can't be moved to %q, which is inside of it", from, to)
	}
	m := namespaceMove{from: from, to: to}
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
	if opts.DryRun {
		return m.report, nil
	}
	return m.run(ctx)
}

type namespaceMove struct {
	move

	from, to backupinfo.Namespace
	// What was found under the locks.
	report MoveReport // of a move in which all goes well
	moves  []relocation
}

// find names what is missing or in the way before anything is called locked.
func (m *namespaceMove) find() error {
	if err := checkNamespace(m.root, m.from); err != nil {
		return err
	}
	if err := checkNamespace(m.root, m.to.Parent()); err != nil {
		return err
	}
	there, err := exists(m.root, m.to.Dir())
	if there {
		return inTheWay(m.root, m.to)
	}
	return err
}

// take takes L6 of the tree and of every namespace that moves, and L2 and L3 of
// everything in them, to a server also under the new names.
func (m *namespaceMove) take(ctx context.Context, set *guards) error {
	if _, err := lockTree(set, m.root); err != nil {
		return err
	}
	if err := m.find(); err != nil {
		return err
	}
	above := path.Join(".", m.to.Parent().Dir())
	if err := m.checkSameDisk(m.from.Dir(), path.Dir(m.from.Dir()), path.Join(above, "ns"), above); err != nil {
		return err
	}
	found, err := lockSubtree(ctx, set, m.root, m.from, lockAll)
	if err != nil {
		return err
	}
	if err := m.plan(found); err != nil {
		return err
	}
	return set.alsoPlaces(m.root, m.report.Groups, m.moves)
}

// plan finds the new names, all of which must be possible ones.
func (m *namespaceMove) plan(found *subtree) error {
	m.report, m.moves = MoveReport{}, nil
	renamed := map[backupinfo.Namespace]backupinfo.Namespace{}
	for _, ns := range found.namespaces {
		to, err := backupinfo.ParseNamespace(m.to.String() + ns.String()[len(m.from.String()):])
		if err != nil {
			return fmt.Errorf("namespace %q would get a new name that is none: %w", ns, err)
		}
		renamed[ns] = to
		m.report.Namespaces = append(m.report.Namespaces, to)
	}
	for _, group := range found.groups {
		to := group.Group
		to.Namespace = renamed[group.Namespace]
		m.report.Groups = append(m.report.Groups, to)
		snapshots := slices.Concat(group.content.snapshots, group.content.protected)
		slices.SortFunc(snapshots, backupinfo.Snapshot.Compare)
		for _, snapshot := range snapshots {
			moved := backupinfo.Snapshot{Group: to, Time: snapshot.Time}
			m.report.Snapshots = append(m.report.Snapshots, moved)
			m.moves = append(m.moves, relocation{snapshot, moved})
		}
	}
	return nil
}

func (m *namespaceMove) run(ctx context.Context) (report MoveReport, err error) {
	from, err := beneath.OpenDir(m.root, path.Dir(m.from.Dir()))
	if err != nil {
		return report, err
	}
	defer from.Close()
	to, err := makeNamespaceDir(m.disk, m.root, m.to.Parent())
	if err != nil {
		return report, err
	}
	defer to.Close()
	own, err := beneath.OpenDir(m.root, m.from.Dir())
	if err != nil {
		return report, err
	}
	defer own.Close()
	err = m.rename(ctx, from, m.from.Name(), to, m.to.Name(), m.moves...)
	return m.conclude(from, to, own, err)
}

// conclude looks where the namespace is: a rename can fail after it was done, as one over a network can.
func (m *namespaceMove) conclude(from, to, own *os.File, err error) (report MoveReport, _ error) {
	if leadsTo(to, m.to.Name(), own) == nil {
		report = m.report
	}
	if err == nil {
		err = m.sync(from, to)
	}
	if err != nil {
		return report, fmt.Errorf("namespace %q: %w", m.from, taken(err, "namespace", m.to.String()))
	}
	return report, nil
}
