package datastore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// PruneOptions are how a group is pruned.
type PruneOptions struct {
	// Keep are the rules. Where none is given, everything is kept. Keep.Now is the present unless it is set.
	Keep backupinfo.KeepOptions
	// Zone has the calendar of the rules; nil is UTC.
	Zone *time.Location
	// DryRun makes every decision and every check, and changes nothing.
	DryRun bool
}

// PruneOutcome is what became of a snapshot.
type PruneOutcome string

// The outcomes.
const (
	// PruneKept: it stays, for the reasons that the decision has. If it has none, no
	// rule was given, or pruning ended before it came to this one.
	PruneKept PruneOutcome = "kept"
	// PruneRemoved: it is gone, or would be, in a dry run.
	PruneRemoved PruneOutcome = "removed"
	// PruneBusy: it was to go, and somebody uses it. Err says who: flock.ErrLocked, or
	// [ErrUnfinished] where an unseen writer may be alive. The next pruning gets it.
	PruneBusy PruneOutcome = "busy"
	// PruneVanished: it was to go, and somebody else removed it.
	PruneVanished PruneOutcome = "vanished"
	// PruneChanged: it was to go, and is not any more what the decision was made
	// about: it was protected ([ErrProtected]) or finished meanwhile.
	PruneChanged PruneOutcome = "changed"
	// PruneFailed: it was to go, and Err kept it from going, or from going completely.
	PruneFailed PruneOutcome = "failed"
)

// Stays tells whether the snapshot is still listed afterwards, as far as is known.
func (o PruneOutcome) Stays() bool { return o != PruneRemoved && o != PruneVanished }

// PrunedSnapshot is one snapshot of a pruned group.
type PrunedSnapshot struct {
	backupinfo.Decision
	Outcome PruneOutcome
	// Err is the cause, where the outcome has one.
	Err error
}

// PruneReport is what pruning did with a group.
type PruneReport struct {
	Group backupinfo.Group
	// Snapshots are all of the group, newest first.
	Snapshots []PrunedSnapshot
	// GroupRemoved says that nothing was left, and that the group went too.
	GroupRemoved bool
}

// Count is how many snapshots had that outcome.
func (r PruneReport) Count(outcome PruneOutcome) int {
	n := 0
	for _, s := range r.Snapshots {
		if s.Outcome == outcome {
			n++
		}
	}
	return n
}

// Prune removes the snapshots of a group that no rule keeps; see backupinfo.Prune.
// It decides about the whole group, then removes the oldest first. Each is locked
// like for [Datastore.RemoveSnapshot] before it goes, and what the decision rested
// on is looked at again: who is protected, in use or being written stays. One that
// stays so does not stop the others; the report has every snapshot.
//
// The error joins what failed. That somebody uses a snapshot, or removed it first,
// is no failure. If a snapshot that a rule keeps is taken away meanwhile, pruning
// stops, since others may be needed in its place.
func (d *Datastore) Prune(ctx context.Context, group backupinfo.Group, opts PruneOptions) (PruneReport, error) {
	report := PruneReport{Group: group}
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return report, err
	}
	defer root.Close()
	if opts.Keep.Now == 0 {
		opts.Keep.Now = backupinfo.TimeOf(time.Now())
	}
	broken, err := d.decide(ctx, root, group, opts, &report)
	if err != nil || !opts.Keep.Keeps() {
		return report, errors.Join(err, broken)
	}
	run := pruneRun{store: d, root: root, disk: disk, group: group, report: &report}
	if opts.DryRun {
		return report, errors.Join(broken, run.try(ctx))
	}
	err = run.remove(ctx)
	run.tidy(ctx)
	d.sweep(ctx, disk, root, group.Dir())
	return report, errors.Join(broken, err, report.failures())
}

// decide fills the report with what is to happen. What can't be read as a
// snapshot counts for no rule and stays, and is in the second error.
func (d *Datastore) decide(ctx context.Context, root *os.File, group backupinfo.Group, opts PruneOptions, report *PruneReport) (broken, err error) {
	dir, err := openGroup(root, group)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	times, entries, err := snapshotTimes(dir, group)
	if err != nil {
		return nil, &EntryError{Path: group.Dir(), Err: err}
	}
	candidates := make([]backupinfo.PruneCandidate, 0, len(times))
	unseen := map[backupinfo.Time]error{}
	for _, at := range times {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		snapshot := backupinfo.Snapshot{Group: group, Time: at}
		candidate, there, err := d.lookAt(ctx, root, dir, snapshot, unseen)
		if err != nil {
			entries = append(entries, &EntryError{Path: snapshot.Dir(), Err: err})
		} else if there {
			candidates = append(candidates, candidate)
		}
	}
	report.decide(candidates, opts, unseen)
	return errors.Join(entries...), nil
}

// lookAt finds out what the rules have to know about a snapshot. Why one counts
// as being written goes into alive.
func (d *Datastore) lookAt(ctx context.Context, root, dir *os.File, snapshot backupinfo.Snapshot, alive map[backupinfo.Time]error) (candidate backupinfo.PruneCandidate, there bool, err error) {
	name := snapshot.Time.String()
	candidate = backupinfo.PruneCandidate{Snapshot: snapshot}
	if candidate.Finished, err = isFinished(dir, name); err != nil {
		return candidate, false, err
	}
	if candidate.Protected, err = exists(dir, path.Join(name, backupinfo.ProtectedName)); err != nil {
		return candidate, false, err
	}
	if !candidate.Finished && !candidate.Protected {
		err = d.checkNoWriter(ctx, root, snapshot)
		switch {
		case errors.Is(err, ErrNotFound):
			return candidate, false, nil
		case errors.Is(err, flock.ErrLocked), errors.Is(err, ErrUnfinished):
			candidate.Writing = true
			alive[snapshot.Time] = err
		case err != nil:
			return candidate, false, err
		}
		// It may have been finished while we asked.
		candidate.Finished, err = isFinished(dir, name)
	}
	return candidate, err == nil, err
}

// checkNoWriter makes sure that nobody works on an unfinished snapshot at this
// moment: it takes the locks that its removal takes, and lets them go.
func (d *Datastore) checkNoWriter(ctx context.Context, root *os.File, snapshot backupinfo.Snapshot) error {
	set, err := d.acquireNow(ctx, func(set *guards) error {
		if _, err := lockGroup(set, root, snapshot.Group); err != nil {
			return err
		}
		if _, err := lockSnapshot(set, root, snapshot); err != nil {
			return err
		}
		return checkAbandoned(root, snapshot, time.Now())
	})
	return errors.Join(err, set.Close())
}

func (r *PruneReport) decide(candidates []backupinfo.PruneCandidate, opts PruneOptions, alive map[backupinfo.Time]error) {
	decisions := backupinfo.Prune(candidates, opts.Keep, opts.Zone)
	r.Snapshots = make([]PrunedSnapshot, 0, len(decisions))
	asked := opts.Keep.Keeps()
	for _, decision := range decisions {
		if !asked && !decision.Keep() {
			decision.Mark = backupinfo.MarkKeep
		}
		pruned := PrunedSnapshot{Decision: decision, Outcome: PruneKept}
		if asked && slices.Equal(decision.Reasons, []backupinfo.KeepReason{backupinfo.ForWriting}) {
			pruned.Outcome, pruned.Err = PruneBusy, alive[decision.Snapshot.Time]
		}
		r.Snapshots = append(r.Snapshots, pruned)
	}
}

func (r *PruneReport) failures() error {
	var failed []error
	for _, s := range r.Snapshots {
		if s.Outcome == PruneFailed {
			failed = append(failed, s.Err)
		}
	}
	return errors.Join(failed...)
}

// pruneRun is the removing half of a pruning.
type pruneRun struct {
	store  *Datastore
	root   *os.File
	disk   *fsop.Disk
	group  backupinfo.Group
	report *PruneReport
}

// victims are the snapshots that are to go, oldest first.
func (r *pruneRun) victims() []*PrunedSnapshot {
	var list []*PrunedSnapshot
	for i := range slices.Backward(r.report.Snapshots) {
		if s := &r.report.Snapshots[i]; !s.Keep() {
			list = append(list, s)
		}
	}
	return list
}

// try makes the checks of a dry run.
func (r *pruneRun) try(ctx context.Context) error {
	for _, victim := range r.victims() {
		if err := ctx.Err(); err != nil {
			return err
		}
		set, err := r.store.lockVictim(ctx, r.root, victim, r.store.acquireNow)
		victim.conclude(errors.Join(err, set.Close()))
	}
	return r.report.failures()
}

// stillKept makes sure that what the rules keep is there.
func (r *pruneRun) stillKept() error {
	for _, s := range r.report.Snapshots {
		if s.Mark != backupinfo.MarkKeep {
			continue
		}
		there, err := exists(r.root, path.Join(s.Snapshot.Dir(), backupinfo.ManifestName))
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("snapshot %q, which was to be kept, is gone: somebody else removes from this group, so nothing more was removed; prune again", s.Snapshot.Dir())
		}
	}
	return nil
}

// tidy takes the group away where nothing is left of it.
func (r *pruneRun) tidy(ctx context.Context) {
	set, err := r.store.acquireNow(ctx, func(*guards) error { return nil })
	if err != nil {
		r.store.opts.Events.notice(r.group.Dir(), "empty group kept", err)
		return
	}
	var removed RemovalReport
	r.store.tidyGroup(ctx, r.disk, r.root, r.group, set, &removed)
	r.report.GroupRemoved = len(removed.Groups) > 0
	if err := set.Close(); err != nil {
		r.store.opts.Events.notice(r.group.Dir(), "a lock was not released as it should", err)
	}
}
