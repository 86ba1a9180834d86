package datastore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// RemoveNamespaceOptions are how a namespace is removed.
type RemoveNamespaceOptions struct {
	// DryRun makes every check, and changes nothing.
	DryRun bool
	// DeleteGroups removes the groups in it and below it too. Without it these make the removal refuse.
	DeleteGroups bool
	// KeepProtected, with DeleteGroups, removes what is not protected where something is.
	KeepProtected bool
	// Force takes no locks of groups and snapshots, and does not ask for how long
	// unfinished snapshots have been left alone.
	Force bool
}

// RemoveNamespace removes a namespace with all those below it. Where there is a
// group in one of them it is [ErrNotEmpty], unless DeleteGroups is set. It is all
// or nothing: the locks of every group and every snapshot are had before anything
// is touched, and the whole then goes by one rename. Where one snapshot is in use
// (flock.ErrLocked) or protected ([ErrProtected]), or something lies there that is
// neither a namespace nor a group, nothing has changed.
//
// With KeepProtected, and a protected snapshot, the namespaces and groups without
// one go, and of the other groups the other snapshots, one by one; the report
// names what went and what stayed.
func (d *Datastore) RemoveNamespace(ctx context.Context, ns backupinfo.Namespace, opts RemoveNamespaceOptions) (report RemovalReport, err error) {
	if ns.IsRoot() {
		return report, errors.New("the root namespace can't be removed")
	}
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return report, err
	}
	defer root.Close()
	if err := checkNamespace(root, ns); err != nil {
		return report, err
	}
	removal := namespaceRemoval{store: d, root: root, disk: disk, opts: opts}
	set, err := d.acquire(ctx, func(set *guards) error { return removal.lock(ctx, set, ns) })
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	d.say(set, "remove", ns.Dir(), "")
	if opts.DryRun {
		return removal.planned(), nil
	}
	report.Protected = removal.planned().Protected
	if err := removal.run(ctx, &report); err != nil {
		return report, err
	}
	d.sweep(ctx, disk, root, path.Dir(ns.Dir()))
	return report, nil
}

// namespaceRemoval is what is known under the locks.
type namespaceRemoval struct {
	store *Datastore
	root  *os.File
	disk  *fsop.Disk
	opts  RemoveNamespaceOptions
	tree  *flock.ExclusiveGuard
	found *subtree

	// whole are the namespaces that go by one rename each, with all below them.
	whole []backupinfo.Namespace
	// single are the groups beside something that stays.
	single []groupInTree
}

func (r *namespaceRemoval) lock(ctx context.Context, set *guards, ns backupinfo.Namespace) (err error) {
	if r.tree, err = lockTree(set, r.root); err != nil {
		return err
	}
	if err := checkNamespace(r.root, ns); err != nil {
		return err
	}
	look := listOnly
	switch {
	case r.opts.DeleteGroups && r.opts.Force:
		look = lockForce
	case r.opts.DeleteGroups:
		look = lockAll
	}
	if r.found, err = lockSubtree(ctx, set, r.root, ns, look); err != nil {
		return err
	}
	r.plan()
	return r.check(ns)
}

// check decides whether what was found may go.
func (r *namespaceRemoval) check(ns backupinfo.Namespace) error {
	if unknown := r.found.unknown; len(unknown) > 0 {
		const shown = 5
		return fmt.Errorf("namespace %q holds what is neither a namespace nor a group: %q: move it away first", ns, unknown[:min(shown, len(unknown))])
	}
	if n := len(r.found.groups); n > 0 && !r.opts.DeleteGroups {
		return fmt.Errorf("namespace %q is %w: groups are in it or below it: %d, such as %q", ns, ErrNotEmpty, n, r.found.groups[0].Dir())
	}
	all := groupContent{protected: r.planned().Protected}
	return all.checkProtected(r.opts.KeepProtected)
}

// plan finds the outermost namespaces in which nothing is protected.
func (r *namespaceRemoval) plan() {
	keeps := map[backupinfo.Namespace]bool{}
	for _, group := range r.found.groups {
		for ns := group.Namespace; len(group.content.protected) > 0 && !ns.IsRoot(); ns = ns.Parent() {
			keeps[ns] = true
		}
	}
	r.whole, r.single = nil, nil
	top := r.found.namespaces[0]
	for _, ns := range r.found.namespaces {
		if !keeps[ns] && (ns == top || keeps[ns.Parent()]) {
			r.whole = append(r.whole, ns)
		}
	}
	for _, group := range r.found.groups {
		if keeps[group.Namespace] {
			r.single = append(r.single, group)
		}
	}
}

// planned is the report of a removal in which all goes well.
func (r *namespaceRemoval) planned() (report RemovalReport) {
	for _, ns := range r.whole {
		r.addWhole(&report, ns)
	}
	for _, group := range r.single {
		plan := group.content.planned(group.Group)
		report.Groups = append(report.Groups, plan.Groups...)
		report.Snapshots = append(report.Snapshots, plan.Snapshots...)
		report.Protected = append(report.Protected, plan.Protected...)
		report.Other = append(report.Other, plan.Other...)
	}
	return report
}

func (r *namespaceRemoval) addWhole(report *RemovalReport, ns backupinfo.Namespace) {
	for _, below := range r.found.namespaces {
		if ns.Contains(below) {
			report.Namespaces = append(report.Namespaces, below)
		}
	}
	for _, group := range r.found.groups {
		if ns.Contains(group.Namespace) {
			report.Groups = append(report.Groups, group.Group)
			report.Snapshots = append(report.Snapshots, group.content.snapshots...)
			report.Other = append(report.Other, group.content.other...)
		}
	}
}

// run renames all that goes as a whole before it unlinks anything: with that the
// lock of the tree, for which others wait, can go.
func (r *namespaceRemoval) run(ctx context.Context, report *RemovalReport) error {
	var failed error
	var gone []place
	for _, ns := range r.whole {
		place, err := r.retire(ns)
		if place.taken() {
			r.addWhole(report, ns)
			gone = append(gone, place)
		}
		failed = errors.Join(failed, err)
	}
	failed = errors.Join(failed, r.tree.Close())
	for _, place := range gone {
		if err := place.dismantle(ctx, r.disk); err != nil {
			failed = errors.Join(failed, fmt.Errorf("a namespace is removed, its remains are not: %w", err))
		}
	}
	for _, group := range r.single {
		if err := ctx.Err(); err != nil {
			return errors.Join(failed, err)
		}
		failed = errors.Join(failed, r.removeGroup(ctx, group, report))
	}
	return failed
}

func (r *namespaceRemoval) retire(ns backupinfo.Namespace) (place, error) {
	parent, err := beneath.OpenDir(r.root, path.Dir(ns.Dir()))
	if err != nil {
		return place{}, err
	}
	defer parent.Close()
	known := decided{}
	for _, group := range r.found.groups {
		known.add(group.Group, group.content.snapshots...)
	}
	gone, err := retireDecided(r.disk, r.root, parent, ns.Name(), ns.Dir(), known)
	return gone, notFound(err, "namespace", ns.String())
}

func (r *namespaceRemoval) removeGroup(ctx context.Context, group groupInTree, report *RemovalReport) error {
	if len(group.content.protected) > 0 {
		return r.store.removeUnprotected(ctx, r.disk, r.root, group.content, report)
	}
	return removeWholeGroup(ctx, r.disk, r.root, group.Group, group.content, report)
}
