package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/pbsrun"
)

// This file is the only one of the package that takes locks. With each, the lock
// that a server of this machine has on the same thing is taken, see runlocks.go.
// They are numbered as in the package documentation:
//
//	L1  the datastore's .lock
//	L2  a group
//	L3  a snapshot
//	L4  a snapshot that serves as base
//	L5  a snapshot's manifest
//	L6  the tree of namespaces, and the namespaces that are removed or moved

// manifestWait is how long L5 and L6 are waited for at least: who holds them only
// rewrites one small file, or makes or renames one directory.
const manifestWait = 5 * time.Second

// guards is a set of locks that is had whole or not at all. Closing it releases
// them in reverse order; closing it again does nothing.
type guards struct {
	server
	sharing *sharing // nil where no store locks are taken
	// holdsGroup says that L2 is among them.
	holdsGroup bool

	mu     sync.Mutex
	held   []io.Closer
	inside []io.Closer // those of held that lie on a file in a snapshot
}

func (g *guards) add(guard io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = append(g.held, guard)
}

func (g *guards) addInside(guard io.Closer) {
	g.add(guard)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside = append(g.inside, guard)
}

// size is how many locks the set has.
func (g *guards) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.held)
}

// files are the open files that carry locks.
func (g *guards) files() (files []*os.File) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, guard := range g.held {
		if carrier, ok := guard.(interface{ File() *os.File }); ok {
			if f := carrier.File(); f != nil {
				files = append(files, f)
			}
		}
	}
	return files
}

// Close releases every lock of the set.
func (g *guards) Close() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	for _, guard := range slices.Backward(g.held) {
		err = errors.Join(err, guard.Close())
	}
	g.held = nil
	return err
}

// closeInside releases what lies on a file in a snapshot, once that is out of the
// tree, where nobody looks for the lock any more. A file that is open can't be
// unlinked over NFS: it stays under another name, and its directory with it.
func (g *guards) closeInside() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	for _, guard := range g.inside {
		err = errors.Join(err, guard.Close())
	}
	g.inside = nil
	return err
}

// briefWait is how long a lock is waited for at least that others of the same kind
// hold for an instant only: those of changes to one small file.
const briefWait = time.Second

// acquirer is one of the three ways to take a set of locks that follow.
type acquirer func(ctx context.Context, take func(set *guards) error) (*guards, error)

// acquire runs take until it has all its locks, for as long as the options say.
// On a refusal everything taken so far is released before the next attempt, so
// that two sets can never wait for each other.
func (d *Datastore) acquire(ctx context.Context, take func(set *guards) error) (*guards, error) {
	return d.acquireAs(ctx, pbsrun.Writing, flock.Wait{Timeout: d.opts.LockWait, Busy: d.opts.Events.waiting}, take)
}

// acquireReading is acquire for somebody who changes nothing.
func (d *Datastore) acquireReading(ctx context.Context, take func(set *guards) error) (*guards, error) {
	return d.acquireAs(ctx, pbsrun.Reading, flock.Wait{Timeout: d.opts.LockWait, Busy: d.opts.Events.waiting}, take)
}

// acquireBriefly is acquire for a change of one small file. Two of them don't
// refuse each other: each waits for the moment that the other one needs.
func (d *Datastore) acquireBriefly(ctx context.Context, take func(set *guards) error) (*guards, error) {
	atLeast := d.patient(briefWait)
	if d.opts.LockWait >= atLeast {
		return d.acquire(ctx, take)
	}
	return d.acquireAs(ctx, pbsrun.Writing, flock.Wait{Timeout: atLeast}, take)
}

// patient is how long is waited of what should be.
func (d *Datastore) patient(wait time.Duration) time.Duration {
	if d.patience > 0 {
		return min(wait, d.patience)
	}
	return wait
}

// acquireNow is acquire for somebody who has other things to do than to wait.
func (d *Datastore) acquireNow(ctx context.Context, take func(set *guards) error) (*guards, error) {
	return d.acquireAs(ctx, pbsrun.Writing, flock.Wait{}, take)
}

func (d *Datastore) acquireAs(ctx context.Context, use pbsrun.Use, wait flock.Wait, take func(set *guards) error) (*guards, error) {
	var set *guards
	try := func() error {
		attempt, err := d.enter(ctx, use)
		if err != nil {
			return err
		}
		if err := take(attempt); err != nil {
			return errors.Join(d.explained(err), attempt.Close())
		}
		set = attempt
		return nil
	}
	err := wait.Do(ctx, try)
	atLeast := d.patient(manifestWait)
	if (errors.Is(err, errManifestBusy) || errors.Is(err, errTreeBusy)) && wait.Timeout < atLeast {
		wait.Timeout = atLeast - wait.Timeout
		err = wait.Do(ctx, try)
	}
	return set, err
}

// errManifestBusy marks the refusal of L5.
var errManifestBusy = errors.New("its manifest is being rewritten")

// errTreeBusy marks the refusal of L6 for the tree as a whole.
var errTreeBusy = errors.New("namespaces are being changed")

// lockStoreShared takes L1 for somebody who adds to the store.
func lockStoreShared(ctx context.Context, set *guards, chunks *chunkstore.Store) error {
	guard, err := chunks.LockShared(ctx, flock.Wait{})
	if err != nil {
		return err
	}
	set.add(guard)
	return set.alsoStore(storeResource, flock.Shared)
}

// lockStoreExclusive takes L1 for somebody who removes chunks: nobody writes any.
func lockStoreExclusive(ctx context.Context, set *guards, chunks *chunkstore.Store) (*flock.ExclusiveGuard, error) {
	guard, err := chunks.LockExclusive(ctx, flock.Wait{})
	if err != nil {
		return nil, err
	}
	set.add(guard)
	return guard, set.alsoStore(storeResource, flock.Exclusive)
}

// lockNewStore locks the directory in which a store is being made.
func lockNewStore(set *guards, root *os.File) error {
	guard, err := flock.TryExclusive(flock.Ref{Dir: root, Name: "."})
	if err != nil {
		return err
	}
	set.add(guard)
	return nil
}

// makeLockFile takes L1 once, in a new store, for the file to be there.
func makeLockFile(ctx context.Context, root *os.File, disk *fsop.Disk) error {
	chunks, err := chunkstore.Open(root, chunkstore.Options{Disk: disk})
	if err != nil {
		return err
	}
	guard, err := chunks.LockExclusive(ctx, flock.Wait{})
	return errors.Join(err, guard.Close(), chunks.Close())
}

// lockGroup takes L2.
func lockGroup(set *guards, root *os.File, group backupinfo.Group) (*flock.ExclusiveGuard, error) {
	guard, err := flock.TryExclusive(flock.Ref{Dir: root, Name: group.Dir()})
	if err != nil {
		return nil, notFound(err, "group", group.Dir())
	}
	set.add(guard)
	if err := set.alsoGroup(root, group, flock.Exclusive); err != nil {
		return nil, err
	}
	set.holdsGroup = true
	return guard, nil
}

// lockGroupShared takes L2 for somebody who wants the group to stay as it is, next to others who do.
func lockGroupShared(set *guards, root *os.File, group backupinfo.Group) (*flock.SharedGuard, error) {
	guard, err := flock.TryShared(flock.Ref{Dir: root, Name: group.Dir()})
	if err != nil {
		return nil, notFound(err, "group", group.Dir())
	}
	set.add(guard)
	return guard, set.alsoGroup(root, group, flock.Shared)
}

// lockSnapshot takes L3 for a change.
func lockSnapshot(set *guards, root *os.File, snapshot backupinfo.Snapshot) (*flock.ExclusiveGuard, error) {
	guard, err := flock.TryExclusive(flock.Ref{Dir: root, Name: snapshot.Dir()})
	if err != nil {
		return nil, notFound(err, "snapshot", snapshot.Dir())
	}
	set.add(guard)
	if err := set.alsoSnapshot(root, snapshot, flock.Exclusive); err != nil {
		return nil, err
	}
	return guard, set.alsoStore(snapshotsResource(snapshot.Group), flock.Exclusive)
}

// lockSnapshotToMark takes L3 to protect the snapshot, or to end that. Its store locks are
// those of a rewrite of the manifest: who reads other snapshots of the group goes on.
func lockSnapshotToMark(set *guards, root *os.File, snapshot backupinfo.Snapshot) (*flock.ExclusiveGuard, error) {
	guard, err := flock.TryExclusive(flock.Ref{Dir: root, Name: snapshot.Dir()})
	if err != nil {
		return nil, notFound(err, "snapshot", snapshot.Dir())
	}
	set.add(guard)
	if err := set.alsoSnapshot(root, snapshot, flock.Exclusive); err != nil {
		return nil, err
	}
	if err := set.alsoStore(snapshotsResource(snapshot.Group), flock.Shared); err != nil {
		return nil, err
	}
	return guard, set.alsoManifests(snapshot.Group)
}

// lockSnapshotShared takes L3 for reading, or L4.
func lockSnapshotShared(set *guards, root *os.File, snapshot backupinfo.Snapshot) (*flock.SharedGuard, error) {
	guard, err := flock.TryShared(flock.Ref{Dir: root, Name: snapshot.Dir()})
	if err != nil {
		return nil, notFound(err, "snapshot", snapshot.Dir())
	}
	set.add(guard)
	if err := set.alsoSnapshot(root, snapshot, flock.Shared); err != nil {
		return nil, err
	}
	return guard, set.alsoStore(snapshotsResource(snapshot.Group), flock.Shared)
}

// lockManifest takes L5. The set that it is refused in is waited for in any case:
// whoever holds L5 is done in an instant.
func lockManifest(set *guards, root *os.File, snapshot backupinfo.Snapshot) (*flock.ExclusiveGuard, error) {
	guard, err := flock.TryExclusive(flock.Ref{Dir: root, Name: path.Join(snapshot.Dir(), backupinfo.ManifestName)})
	if err == nil {
		set.addInside(guard)
		if err = set.alsoManifest(root, snapshot); err == nil {
			err = set.alsoManifests(snapshot.Group)
		}
	}
	if errors.Is(err, flock.ErrLocked) {
		return nil, fmt.Errorf("%w: %w", errManifestBusy, set.explained(err))
	}
	return guard, err
}

// lockTreeShared takes L6 for somebody who adds a namespace or a group, so that
// the namespace it is added to is not taken away meanwhile.
func lockTreeShared(set *guards, root *os.File) error {
	guard, err := flock.TryShared(flock.Ref{Dir: root, Name: "."})
	if err != nil {
		return treeBusy(err)
	}
	set.add(guard)
	return treeBusy(set.alsoStore(treeResource, flock.Shared))
}

// lockTree takes L6 for somebody who takes a namespace away from its place. The
// guard may be closed before its set: with the rename the need for it is over.
func lockTree(set *guards, root *os.File) (*flock.ExclusiveGuard, error) {
	guard, err := flock.TryExclusive(flock.Ref{Dir: root, Name: "."})
	if err != nil {
		return nil, treeBusy(err)
	}
	set.add(guard)
	return guard, treeBusy(set.alsoStore(treeResource, flock.Exclusive))
}

func treeBusy(err error) error {
	if errors.Is(err, flock.ErrLocked) {
		return fmt.Errorf("%w: %w", errTreeBusy, err)
	}
	return err
}

// lockNamespace takes L6 of one namespace that is removed or moved: what is
// dismantled holds its own lock, else somebody would take it for a leftover.
func lockNamespace(set *guards, root *os.File, ns backupinfo.Namespace) error {
	guard, err := flock.TryExclusive(flock.Ref{Dir: root, Name: ns.Dir()})
	if err != nil {
		return notFound(err, "namespace", ns.String())
	}
	set.add(guard)
	return nil
}

// lockStaged locks a directory under its temporary name, before it becomes visible under its real one.
func lockStaged(set *guards, dir *os.File, name string) (*flock.ExclusiveGuard, error) {
	guard, err := flock.TryExclusive(flock.Ref{Dir: dir, Name: name})
	if err != nil {
		return nil, err
	}
	set.add(guard)
	return guard, nil
}

// lockLeftover proves that nobody works on a leftover any more. The guard is nil where somebody does.
func lockLeftover(dir *os.File, name string) (*flock.ExclusiveGuard, error) {
	guard, err := flock.TryExclusive(flock.Ref{Dir: dir, Name: name})
	if errors.Is(err, flock.ErrLocked) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return guard, err
}

// notFound turns a missing directory into the name that the user knows.
func notFound(err error, kind, name string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &NotFoundError{Kind: kind, Name: name}
	}
	return err
}

// leadsTo makes sure that a name still leads to a locked directory: a guard that
// was taken under another name can't tell.
func leadsTo(root *os.File, name string, locked *os.File) error {
	there, err := beneath.Stat(root, name)
	if err != nil {
		return err
	}
	own, err := identityOf(locked)
	if err == nil && own != (identity{dev: there.Dev, ino: there.Ino}) {
		err = flock.ErrChanged
	}
	return err
}
