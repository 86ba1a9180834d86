package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// pruneBatch is how many snapshots are renamed out of the tree before that is
// synced to disk: a sync for each costs far more than all the rest. Their locks are held meanwhile.
const pruneBatch = 32

// errNoLongerSo means that the snapshot is not what the decision was made about.
var errNoLongerSo = errors.New("is not what it was when pruning decided about it")

// lockVictim takes the locks for a removal and makes sure under them that the decision still holds.
func (d *Datastore) lockVictim(ctx context.Context, root *os.File, victim *PrunedSnapshot, acquire acquirer) (*guards, error) {
	if err := findSnapshot(root, victim.Snapshot); err != nil {
		return nil, err
	}
	set, err := d.lockForRemoval(ctx, root, victim.Snapshot, false, acquire)
	if err != nil {
		return nil, err
	}
	group, err := beneath.OpenDir(root, victim.Snapshot.Group.Dir())
	if err == nil {
		var finished bool
		finished, err = isFinished(group, victim.Snapshot.Time.String())
		if err == nil && finished != victim.Finished {
			err = fmt.Errorf("snapshot %q %w", victim.Snapshot.Dir(), errNoLongerSo)
		}
		err = errors.Join(err, group.Close())
	}
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return set, nil
}

// conclude gives a snapshot that was to go its outcome.
func (s *PrunedSnapshot) conclude(err error) {
	s.Err = err
	switch {
	case err == nil:
		s.Outcome = PruneRemoved
	case errors.Is(err, ErrNotFound), errors.Is(err, fs.ErrNotExist):
		s.Outcome = PruneVanished
	case errors.Is(err, flock.ErrLocked), errors.Is(err, ErrUnfinished):
		s.Outcome = PruneBusy
	case errors.Is(err, ErrProtected):
		s.Outcome, s.Protected = PruneChanged, true
	case errors.Is(err, errNoLongerSo):
		s.Outcome = PruneChanged
	default:
		s.Outcome = PruneFailed
	}
}

// remove goes over the snapshots that are to go. The busy ones are waited for,
// where that was asked for, when all others are gone and nothing is held.
func (r *pruneRun) remove(ctx context.Context) error {
	victims := r.victims()
	if err := r.pass(ctx, victims, r.store.acquireNow, pruneBatch); err != nil {
		return err
	}
	if r.store.opts.LockWait <= 0 {
		return nil
	}
	var busy []*PrunedSnapshot
	for _, victim := range victims {
		if errors.Is(victim.Err, flock.ErrLocked) {
			busy = append(busy, victim)
		}
	}
	return r.pass(ctx, busy, r.store.acquire, 1)
}

// pass removes snapshots in batches. When it ends early, the rest is kept.
func (r *pruneRun) pass(ctx context.Context, victims []*PrunedSnapshot, acquire acquirer, size int) error {
	total := len(victims)
	for len(victims) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.store.lease.check(); err != nil {
			return err
		}
		if err := r.stillKept(); err != nil {
			return err
		}
		batch := removalBatch{run: r, acquire: acquire}
		n := batch.fill(ctx, victims, size)
		batch.finish(ctx)
		victims = victims[n:]
		r.store.opts.Events.progress(Progress{
			Operation: "prune", Object: r.group.Dir(), Done: uint64(total - len(victims)), Total: uint64(total), Items: true,
		})
	}
	return nil
}

// removalBatch are snapshots that are renamed out of the tree, and their locks.
type removalBatch struct {
	run     *pruneRun
	acquire acquirer
	retired []retiredSnapshot
}

type retiredSnapshot struct {
	*PrunedSnapshot
	set  *guards
	gone place
}

// fill retires snapshots and tells how many it went through. One that needs the
// group's lock ends the batch: the next may need it too.
func (b *removalBatch) fill(ctx context.Context, victims []*PrunedSnapshot, size int) int {
	for i, victim := range victims[:min(size, len(victims))] {
		if ctx.Err() != nil {
			return i
		}
		set, err := b.run.store.lockVictim(ctx, b.run.root, victim, b.acquire)
		if err != nil {
			victim.conclude(err)
			continue
		}
		b.retire(victim, set)
		if set.holdsGroup || set.isShared() { // its store locks are the next one's too
			return i + 1
		}
	}
	return min(size, len(victims))
}

func (b *removalBatch) retire(victim *PrunedSnapshot, set *guards) {
	group, err := beneath.OpenDir(b.run.root, victim.Snapshot.Group.Dir())
	var gone place
	if err == nil {
		gone, err = moveOut(b.run.disk, b.run.root, group, victim.Snapshot.Time.String())
		err = errors.Join(err, group.Close())
	}
	if err != nil {
		victim.conclude(errors.Join(err, set.Close()))
		return
	}
	b.retired = append(b.retired, retiredSnapshot{PrunedSnapshot: victim, set: set, gone: gone})
}

// finish makes the renames durable, unlinks the files, and lets go of the locks.
// What is out of the tree is unlinked whole, also when pruning is to end.
func (b *removalBatch) finish(ctx context.Context) {
	if len(b.retired) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	synced := b.sync()
	for _, s := range b.retired {
		err := synced
		if err != nil {
			err = errors.Join(fmt.Errorf("snapshot %q is out of the tree, which may not be on disk yet: %w", s.Snapshot.Dir(), err), s.gone.dir.Close())
		} else if err = errors.Join(s.set.closeInside(), s.gone.dismantle(ctx, b.run.disk)); err != nil {
			err = fmt.Errorf("snapshot %q is removed, its remains are not: %w", s.Snapshot.Dir(), err)
		}
		s.conclude(errors.Join(err, s.set.Close()))
	}
}

func (b *removalBatch) sync() error {
	group, err := beneath.OpenDir(b.run.root, b.run.group.Dir())
	if err != nil {
		return err
	}
	err = b.run.disk.SyncDir(group)
	done := map[string]bool{group.Name(): true}
	for _, s := range b.retired {
		if name := s.gone.dir.Name(); err == nil && !done[name] {
			done[name] = true
			err = b.run.disk.SyncDir(s.gone.dir)
		}
	}
	return errors.Join(err, group.Close())
}
