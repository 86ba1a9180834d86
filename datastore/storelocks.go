package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/pbsrun"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

// Store locks lie in the store itself and reach every host that shares it. They
// are taken after the locks of this machine, by the functions in locks.go and by
// nobody else, where the store says that they are in force. They are coarser: one for
// the store, one for the tree of namespaces, and three for each group.
const (
	storeResource = "datastore"
	treeResource  = "namespaces"

	groupKind     = "group"
	snapshotsKind = "snapshots"
	manifestsKind = "manifests"
)

func groupResource(group backupinfo.Group) string     { return groupKind + "/" + group.Dir() }
func snapshotsResource(group backupinfo.Group) string { return snapshotsKind + "/" + group.Dir() }
func manifestsResource(group backupinfo.Group) string { return manifestsKind + "/" + group.Dir() }

// StoreLockedError says who holds a store lock. It unwraps to flock.ErrLocked and
// to the *storelock.LockedError.
type StoreLockedError struct {
	// Resource is what is locked, such as "snapshots/vm/100".
	Resource string
	Err      error
}

func (e *StoreLockedError) Error() string {
	return fmt.Sprintf("%q is in use, perhaps on another host: %v", e.Resource, e.Err)
}

// Unwrap gives both classes.
func (e *StoreLockedError) Unwrap() []error { return []error{flock.ErrLocked, e.Err} }

// sharing is what a set of locks knows about the scheme that is in force.
type sharing struct {
	ctx    context.Context //nolint:containedctx // of the attempt that takes the set
	store  *Datastore
	root   *os.File
	scheme LockScheme
	// forced: the set belongs to who changes the scheme.
	forced bool
	held   map[string]*heldLease // by resource
}

// enterScheme finds out which locks are in force. Who reads goes on where that is not known.
func (d *Datastore) enterScheme(ctx context.Context, set *guards) error {
	root, err := openDirectory(d.path)
	if err != nil {
		return err
	}
	set.add(root)
	scheme, err := readScheme(root)
	switch {
	case err != nil && set.use == pbsrun.Reading:
		set.missing = err
		set.notices.notice(d.path, "read without store locks", err)
		return nil
	case err != nil:
		return err
	case scheme.Mode == LockChanging:
		return fmt.Errorf("%q: %w", d.path, errSchemeChanged)
	}
	if d.lease == nil {
		d = d.begin()
	}
	if d.lease.lost.Err() != nil {
		return context.Cause(d.lease.lost) //nolint:contextcheck // that is what it is asked for
	}
	set.sharing = &sharing{ctx: ctx, store: d, root: root, scheme: scheme, held: map[string]*heldLease{}}
	return nil
}

// isShared tells whether store locks belong to the set.
func (g *guards) isShared() bool { return g.sharing != nil && g.sharing.scheme.Mode == LockShared }

// within gives an empty set for a part of the work of this one.
func (g *guards) within() *guards {
	part := &guards{server: g.server}
	if g.sharing != nil {
		own := *g.sharing
		own.held = map[string]*heldLease{}
		part.sharing = &own
	}
	return part
}

// alsoStore ends the taking of each lock: it takes the store lock, where those are in
// force, and makes sure that the scheme is still the one that the set goes by. Who
// changes it says so first and then looks for locks, so that one of the two sees the other.
func (g *guards) alsoStore(resource string, mode flock.Mode) error {
	s := g.sharing
	if s == nil {
		return nil
	}
	if g.isShared() {
		if err := g.takeStore(resource, mode == flock.Exclusive); err != nil {
			return err
		}
	}
	if s.forced {
		return nil
	}
	now, err := readScheme(s.root)
	if err == nil && now != s.scheme {
		err = fmt.Errorf("%q: %w", s.store.path, errSchemeChanged)
	}
	return err
}

// alsoManifests takes the store lock for the moment in which a manifest, or a mark beside it,
// is written. Who has all snapshots of the group needs none: every writer has them shared.
func (g *guards) alsoManifests(group backupinfo.Group) error {
	if g.sharing != nil {
		if all := g.sharing.held[snapshotsResource(group)]; all != nil && all.guard.Exclusive() {
			return nil
		}
	}
	err := g.alsoStore(manifestsResource(group), flock.Exclusive)
	if errors.Is(err, flock.ErrLocked) {
		err = fmt.Errorf("%w: %w", errManifestBusy, err)
	}
	return err
}

func (g *guards) takeStore(resource string, exclusive bool) error {
	s := g.sharing
	if had, ok := s.held[resource]; ok && (had.guard.Exclusive() || !exclusive) {
		return nil
	}
	guard, err := s.store.storeLock(s.ctx, s.root, s.scheme, resource, exclusive)
	switch {
	case err == nil:
		s.held[resource] = guard
		g.add(guard)
		return nil
	case g.readsWithout(resource, err):
		return nil
	}
	return err
}

// readsWithout lets readers go on who can't write into the store, as on a read-only medium.
func (g *guards) readsWithout(resource string, err error) bool {
	if g.complete || g.use != pbsrun.Reading || errors.Is(err, flock.ErrLocked) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	g.notices.notice(resource, "read without its store lock, which can't be taken", err)
	return true
}

// storeLock takes one store lock.
func (d *Datastore) storeLock(ctx context.Context, root *os.File, scheme LockScheme, resource string, exclusive bool) (*heldLease, error) {
	dir, err := beneath.OpenDir(root, storeLockDir)
	if err != nil {
		return nil, fmt.Errorf("store locks are in force, and their directory can't be opened: %w", err)
	}
	place := dirstore.New(dir, dirstore.Options{Disk: d.opts.Disk}).Resource(resource)
	opts := d.storeLockOptions(scheme)
	opts.Exclusive, opts.Message = exclusive, resource
	// What could not be removed at once is removed in the background, in this directory.
	opts.Idle = func() { _ = dir.Close() } // it was only used to find others
	guard, err := storelock.Acquire(ctx, place, opts)
	if errors.Is(err, storelock.ErrTimeout) {
		err = &StoreLockedError{Resource: resource, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return d.lease.follow(guard), nil
}

// instance names the acquisition of a store lock that the set has; empty where there is none.
func (g *guards) instance(resource string) string {
	if g.sharing == nil || g.sharing.held[resource] == nil {
		return ""
	}
	return g.sharing.held[resource].guard.Instance()
}

func (d *Datastore) storeLockOptions(scheme LockScheme) storelock.Options {
	opts := storelock.Options{
		Stale: scheme.Stale, RecheckDelay: scheme.RecheckDelay,
		HostID: d.opts.HostID, LeaseOnly: d.opts.LeaseOnly, Memory: d.seen,
		Cleared: func(i storelock.Info) {
			d.opts.Events.notice(i.Message, "a store lock without a living owner was removed: held "+i.String(), nil)
		},
	}
	if d.opts.LockMemory != "" {
		_ = os.MkdirAll(d.opts.LockMemory, 0o700) //nolint:forbidigo // outside of the store; without it nothing is remembered
		opts.StateFile = filepath.Join(d.opts.LockMemory, "pbs-like-"+storelock.ResourceDir(d.path)+".json")
	}
	return opts
}

// StoreLock is what lies in the place of one store lock.
type StoreLock struct {
	// Resource is its name as its directory has it.
	Resource string
	storelock.Info
}

// eachStoreLock visits the places of all store locks.
func (d *Datastore) eachStoreLock(ctx context.Context, visit func(name string, place *dirstore.Store) error) error {
	root, err := d.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := beneath.OpenDir(root, storeLockDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if strings.HasPrefix(name, ".") {
			continue
		}
		if err := d.visitStoreLock(dir, name, visit); err != nil {
			return err
		}
	}
	return nil
}

func (d *Datastore) visitStoreLock(dir *os.File, name string, visit func(string, *dirstore.Store) error) error {
	own, err := beneath.OpenDir(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer own.Close()
	return visit(name, dirstore.New(own, dirstore.Options{Disk: d.opts.Disk}))
}

// StoreLocks tells who holds store locks, or waits for one, on whatever host. It
// takes none, and changes nothing.
func (d *Datastore) StoreLocks(ctx context.Context) (locks []StoreLock, err error) {
	scheme, err := d.LockScheme(ctx)
	if err != nil {
		return nil, err
	}
	err = d.eachStoreLock(ctx, func(name string, place *dirstore.Store) error {
		found, err := storelock.List(ctx, place, d.storeLockOptions(scheme))
		for _, info := range found {
			locks = append(locks, StoreLock{name, info})
		}
		return err
	})
	return locks, err
}

// BreakStoreLocks removes the store locks that nobody alive holds, see
// storelock.Break, and tells which those were. With Force it removes all: who holds one
// loses it, and gives up its work.
func (d *Datastore) BreakStoreLocks(ctx context.Context, how storelock.BreakOptions) (broken []StoreLock, err error) {
	scheme, err := d.LockScheme(ctx)
	if err != nil {
		return nil, err
	}
	err = d.eachStoreLock(ctx, func(name string, place *dirstore.Store) error {
		found, err := storelock.Break(ctx, place, d.storeLockOptions(scheme), how)
		for _, info := range found {
			broken = append(broken, StoreLock{name, info})
		}
		return err
	})
	return broken, err
}
