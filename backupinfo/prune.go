package backupinfo

import (
	"cmp"
	"slices"
	"time"
)

// PruneCandidate is a snapshot of the group that is pruned.
type PruneCandidate struct {
	Snapshot  Snapshot
	Finished  bool // it has a manifest
	Protected bool // it is not to be removed, whatever the rules
	Writing   bool // it is unfinished, and its writer is alive
}

// PruneMark is what pruning does with a snapshot.
type PruneMark string

// The marks, as the original names them.
const (
	MarkKeep        PruneMark = "keep"
	MarkKeepPartial PruneMark = "keep-partial" // unfinished
	MarkProtected   PruneMark = "protected"
	MarkRemove      PruneMark = "remove"
)

// Decision is what pruning does with a snapshot, and why.
type Decision struct {
	PruneCandidate
	Mark PruneMark

	// Reasons has at least one for what is kept and none for what is removed.
	Reasons []KeepReason
}

// Keep reports whether the snapshot stays.
func (d Decision) Keep() bool { return d.Mark != MarkRemove }

func (d *Decision) keep(mark PruneMark, why KeepReason) {
	d.Mark = mark
	d.Reasons = append(d.Reasons, why)
}

// Prune decides about all snapshots of one group and returns them newest first.
// Hours, days, weeks (of ISO 8601), months and years are those of the zone's
// calendar; a nil zone is UTC. The hour that a clock shows twice when it is set back
// is one hour.
//
// Where options of the same names exist, the marks are those of the original, with
// two differences: it knows no spans, and it marks an unfinished snapshot whose
// writer is alive like any other.
//
// Unfinished snapshots count for no rule. One that is the newest of all is kept, the
// others go. A protected snapshot counts for no rule either.
//
// With options that don't keep anything, every finished snapshot that is not
// protected is marked for removal: look at [KeepOptions.Keeps] before.
func Prune(snapshots []PruneCandidate, keep KeepOptions, zone *time.Location) []Decision {
	if zone == nil {
		zone = time.UTC
	}
	p := pruning{list: make([]Decision, len(snapshots)), zone: zone}
	for i, s := range snapshots {
		p.list[i].PruneCandidate = s
	}
	slices.SortStableFunc(p.list, func(a, b Decision) int { return cmp.Compare(b.Snapshot.Time, a.Snapshot.Time) })
	p.markUnfinished()
	for _, rule := range keep.counting() {
		p.markCounted(rule)
	}
	latest := p.latest(keep.Now)
	for _, rule := range keep.spanning() {
		p.markWithin(rule, latest)
	}
	p.finish()
	return p.list
}

// pruning is the list under decision, newest first. What has no mark yet is open to
// the rules that follow.
type pruning struct {
	list []Decision
	zone *time.Location
}

func (p *pruning) markUnfinished() {
	for i := range p.list {
		switch d := &p.list[i]; {
		case d.Finished:
		case i == 0:
			d.keep(MarkKeepPartial, ForPartial)
		default:
			d.Mark = MarkRemove
		}
	}
}

// markCounted takes one rule. A period of which an earlier rule keeps something is
// passed over and its other snapshots stay open; of a period that this rule takes,
// the others are removed for good.
func (p *pruning) markCounted(rule keepRule) {
	if rule.count < 1 {
		return
	}
	covered, taken := map[string]bool{}, map[string]bool{}
	for i := range p.list {
		if d := &p.list[i]; d.Mark == MarkKeep {
			covered[rule.label(d.Snapshot.Time, p.zone)] = true
		}
	}
	for i := range p.list {
		d := &p.list[i]
		if d.Mark != "" || d.Protected {
			continue
		}
		label := rule.label(d.Snapshot.Time, p.zone)
		switch {
		case covered[label]:
		case taken[label]:
			d.Mark = MarkRemove
		case len(taken) == rule.count:
			return
		default:
			taken[label] = true
			d.keep(MarkKeep, rule.reason)
		}
	}
}

// markWithin takes one rule that looks back from the latest snapshot.
func (p *pruning) markWithin(rule keepRule, latest Time) {
	if rule.span.IsZero() {
		return
	}
	begin := rule.span.BackFrom(latest, p.zone)
	taken := map[string]bool{}
	for i := range p.list {
		d := &p.list[i]
		if !d.Finished || d.Protected || d.Snapshot.Time <= begin {
			continue
		}
		if label := rule.label(d.Snapshot.Time, p.zone); !taken[label] {
			taken[label] = true
			d.keep(MarkKeep, rule.reason)
		}
	}
}

// latest returns the time of the newest finished snapshot that is not after now.
func (p *pruning) latest(now Time) Time {
	for i := range p.list {
		if d := &p.list[i]; d.Finished && (now == 0 || d.Snapshot.Time <= now) {
			return d.Snapshot.Time
		}
	}
	return now
}

func (p *pruning) finish() {
	for i := range p.list {
		d := &p.list[i]
		switch {
		case d.Protected:
			d.Mark, d.Reasons = MarkProtected, []KeepReason{ForProtected}
		case d.Writing && !d.Finished:
			d.keep(MarkKeepPartial, ForWriting)
		case d.Mark == "":
			d.Mark = MarkRemove
		}
	}
}
