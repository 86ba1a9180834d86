package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/pbsrun"
)

// Run locks are the files that a server of this machine locks besides, or instead
// of, the directories of the store. They are taken right after the directory's lock,
// in the same mode, by the functions in locks.go and by nobody else. Where no
// server is configured to serve the store, there are none.

// server is what a set of locks knows about the server of this machine.
type server struct {
	run     *pbsrun.Store // nil where no server serves the store
	use     pbsrun.Use
	notices Events
	// missing is why the server's locks are left out, and complete forbids it.
	missing  error
	complete bool
	// explain adds to a refusal what its holders do. It has to come before the error is
	// wrapped, which fixes its text.
	explain func(error) error
}

// enter gives an empty set of locks. The server's maintenance waits from here on
// until the set is closed.
func (d *Datastore) enter(ctx context.Context, use pbsrun.Use) (*guards, error) {
	set := &guards{server: server{use: use, notices: d.opts.Events, explain: d.explained}}
	if err := d.enterScheme(ctx, set); err != nil {
		return set.orNothing(err)
	}
	run, err := d.served()
	switch {
	case err == nil && (run == nil || d.opts.ServerStopped):
		return set, nil
	case err == nil:
		set.run = run
		err = d.register(ctx, set)
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 && !d.belongsToServer():
		return set, nil // see checkServer
	}
	if err == nil || !set.goesOnWithout(d.path, err) {
		return set.orNothing(err)
	}
	set.run, set.missing = nil, err
	return set, nil
}

// belongsToServer tells whether a store belongs to the server's user, whatever its
// configuration says.
func (d *Datastore) belongsToServer() bool {
	owner, err := d.server.Owner()
	if err != nil {
		return false
	}
	var stat unix.Stat_t
	return unix.Stat(d.path, &stat) == nil && int(stat.Uid) == owner.UID
}

// register counts the operation and only then looks at the maintenance mode: in the
// other order a mode could begin in between, which finds nobody at work.
func (d *Datastore) register(ctx context.Context, set *guards) error {
	entry, err := set.run.Enter(ctx, set.use)
	if err != nil {
		return err
	}
	set.add(entry)
	now, err := d.served()
	if err != nil || now == nil {
		return err
	}
	return d.checkMaintenance(now, set.use)
}

// orNothing closes the set where there is an error.
func (g *guards) orNothing(err error) (*guards, error) {
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// goesOnWithout tells, and says so, whether somebody goes on without what a server
// has: a reader, whatever is in the way but that a lock is held. A server that
// removes what is being read makes that fail; nothing is lost by it.
func (s server) goesOnWithout(what string, err error) bool {
	if s.complete || s.use != pbsrun.Reading || errors.Is(err, flock.ErrLocked) || errors.Is(err, ErrMaintenance) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	s.notices.notice(what, "read without the locks of the Proxmox Backup Server on this machine, which can't be taken", err)
	return true
}

func (s server) explained(err error) error {
	if s.explain == nil {
		return err
	}
	return s.explain(err)
}

// perSnapshot is how many locks there are on each snapshot.
func (s server) perSnapshot() int {
	if s.run == nil {
		return 1
	}
	return 2
}

// alsoGroup takes the server's lock of a group, and then the store lock.
func (g *guards) alsoGroup(root *os.File, group backupinfo.Group, mode flock.Mode) error {
	if g.run != nil {
		lock := &runLock{root: root, dir: group.Dir()}
		if err := g.also(lock, mode, pbsrun.LockName(group.Namespace.String(), group.String())); err != nil {
			return err
		}
	}
	return g.alsoStore(groupResource(group), mode)
}

// alsoSnapshot takes the server's lock of a snapshot.
func (g *guards) alsoSnapshot(root *os.File, snapshot backupinfo.Snapshot, mode flock.Mode) error {
	if g.run == nil {
		return nil
	}
	lock := &runLock{root: root, dir: snapshot.Dir(), besides: manifestLocks(snapshot)}
	return g.also(lock, mode, pbsrun.LockName(snapshot.Group.Namespace.String(), snapshot.String()))
}

// alsoPlaces takes the server's locks of everything that moves under its new name,
// so that no server makes or takes anything there before the move has ended. What
// they are of is not there yet: where it never gets there, the lock files go again.
func (g *guards) alsoPlaces(root *os.File, groups []backupinfo.Group, moves []relocation) error {
	if g.run == nil {
		return nil
	}
	if err := enoughDescriptors(g.size() + len(groups) + len(moves)); err != nil {
		return err
	}
	for _, group := range groups {
		if err := g.alsoGroup(root, group, flock.Exclusive); err != nil {
			return err
		}
	}
	for _, move := range moves {
		if err := g.alsoSnapshot(root, move.to, flock.Exclusive); err != nil {
			return err
		}
	}
	return nil
}

// also takes a run lock, unless the server goes by the directories' locks alone.
func (g *guards) also(lock *runLock, mode flock.Mode, name string) error {
	old, err := g.run.OldLocking()
	if err != nil {
		return err
	}
	if !old {
		return g.takeRun(lock, mode, name)
	}
	lock.server, lock.exclusive = g.server, mode == flock.Exclusive
	g.add(lock) // for what goes with the thing
	return nil
}

func (g *guards) takeRun(lock *runLock, mode flock.Mode, name string) (err error) {
	lock.server, lock.exclusive = g.server, mode == flock.Exclusive
	if lock.held, err = g.run.Lock(name, mode); err == nil {
		g.add(lock)
		return nil
	}
	if g.goesOnWithout(lock.dir, err) {
		return nil
	}
	err = g.explained(err)
	return fmt.Errorf("%q, to the Proxmox Backup Server on this machine: %w", lock.dir, err)
}

// alsoManifest takes the server's locks of a manifest, of both styles: which
// version it has can't be told.
func (g *guards) alsoManifest(root *os.File, snapshot backupinfo.Snapshot) error {
	if g.run == nil {
		return nil
	}
	names := manifestLocks(snapshot)
	if err := g.also(&runLock{root: root, dir: snapshot.Dir()}, flock.Exclusive, names[0]); err != nil {
		return err
	}
	err := g.takeRun(&runLock{root: root, dir: snapshot.Dir()}, flock.Exclusive, names[1])
	if errors.Is(err, unix.ENOTDIR) {
		return nil // a newer server has a lock file of its own in the way, so there is no older one
	}
	return err
}

// manifestLocks are the names of both styles, the newer one first.
func manifestLocks(snapshot backupinfo.Snapshot) []string {
	return []string{
		pbsrun.ManifestLockName(snapshot.Group.Namespace.String(), snapshot.String()),
		pbsrun.OldManifestLockName(snapshot.Dir()),
	}
}

// runLock is a run lock and what it is of. The file of one stays when it is
// released, as the server's do, unless what it is of is gone by then.
type runLock struct {
	server
	held      *pbsrun.Lock // nil where the directory's lock is the server's
	exclusive bool
	root      *os.File
	dir       string   // in the store
	besides   []string // lock files of what is gone with it
}

// Close releases the lock.
func (l *runLock) Close() error {
	if l.exclusive && l.isGone() {
		if err := l.clear(); err != nil {
			l.notices.notice(l.dir, "the server's lock file of what is gone is left behind", err)
		}
	}
	return l.held.Close()
}

// File is the open file that carries the lock, nil where there is none.
func (l *runLock) File() *os.File {
	if l.held == nil {
		return nil
	}
	return l.held.File()
}

func (l *runLock) isGone() bool {
	_, err := beneath.Stat(l.root, l.dir)
	return errors.Is(err, fs.ErrNotExist)
}

func (l *runLock) clear() error {
	var err error
	for _, name := range l.besides {
		err = errors.Join(err, l.run.Discard(name))
	}
	err = errors.Join(err, l.run.RemoveOldDirectory(l.dir))
	if l.held != nil {
		err = errors.Join(err, l.held.Remove())
	}
	return err
}

// journalMoves tells a collection of the server which index files are about to be
// renamed: their new paths, relative to the store. Where it can't, nothing may be renamed.
//
// The server gets them below the directory that it knows: under the name by which
// the store was opened here, a mount of ours perhaps, it may find nothing.
func (g *guards) journalMoves(ctx context.Context, indexes []string) error {
	if g.run == nil {
		return nil
	}
	paths := make([]string, 0, len(indexes))
	for _, index := range indexes {
		paths = append(paths, filepath.Join(g.run.Directory(), index))
	}
	return g.run.AppendMoveJournal(ctx, paths)
}
