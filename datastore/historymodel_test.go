package datastore_test

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// model is what a store should hold: plain values, with no idea of a disk.
type model struct {
	namespaces map[backupinfo.Namespace]bool // with the root
	groups     map[backupinfo.Group]groupModel
	snapshots  map[backupinfo.Snapshot]snapshotModel
}

type groupModel struct {
	owner backupinfo.AuthID
	notes string
}

type snapshotModel struct {
	finished   bool
	data       string
	protection datastore.Protection
	notes      string
	verdict    backupinfo.VerifyResult
}

func newModel() model {
	return model{namespaces: map[backupinfo.Namespace]bool{}, groups: map[backupinfo.Group]groupModel{}, snapshots: map[backupinfo.Snapshot]snapshotModel{}}
}

func (m model) clone() model {
	return model{maps.Clone(m.namespaces), maps.Clone(m.groups), maps.Clone(m.snapshots)}
}

func (m model) equal(other model) bool {
	return maps.Equal(m.namespaces, other.namespaces) && maps.Equal(m.groups, other.groups) && maps.Equal(m.snapshots, other.snapshots)
}

// between tells whether each group and each snapshot is as in one model or as in the other.
func (m model) between(before, after model) error {
	return errors.Join(eachOf(m.namespaces, before.namespaces, after.namespaces), eachOf(m.groups, before.groups, after.groups), eachOf(m.snapshots, before.snapshots, after.snapshots))
}

func eachOf[K, V comparable](got, before, after map[K]V) (wrong error) {
	for _, all := range []map[K]V{got, before, after} {
		for key := range all {
			v, there := got[key]
			old, wasThere := before[key]
			next, willBeThere := after[key]
			if (v != old || there != wasThere) && (v != next || there != willBeThere) {
				wrong = errors.Join(wrong, fmt.Errorf("%v: %+v, neither %+v nor %+v", key, v, old, next))
			}
		}
	}
	return wrong
}

// of lists the snapshots of a group.
func (m model) of(group backupinfo.Group) (list []backupinfo.Snapshot) {
	for s := range m.snapshots {
		if s.Group == group {
			list = append(list, s)
		}
	}
	return list
}

// remove removes a snapshot, and its group with the last one.
func (m model) remove(s backupinfo.Snapshot) {
	delete(m.snapshots, s)
	m.tidy(s.Group)
}

func (m model) tidy(group backupinfo.Group) {
	if len(m.of(group)) == 0 {
		delete(m.groups, group)
	}
}

// after is what a step makes of it, with the error that it should end in. bad
// tells the contents whose chunks can't be read.
func (m model) after(s step, bad func(digit byte) bool) (model, error) {
	next := m.clone()
	switch s.Do {
	case "move-group", "merge-group", "move-namespace", "create-namespace", "remove-namespace":
		return next, next.afterTree(s)
	}
	if s.Group != "" && s.Do != "backup" {
		_, isGroup := m.groups[s.group()]
		_, isSnapshot := m.snapshots[s.snapshot()]
		if !isGroup || s.Time != 0 && !isSnapshot {
			return next, datastore.ErrNotFound
		}
	}
	switch s.Do {
	case "backup":
		return next, next.backUp(s)
	case "remove-snapshot":
		if m.snapshots[s.snapshot()].protection.Protected {
			return next, datastore.ErrProtected
		}
		next.remove(s.snapshot())
	case "remove-group":
		return next, next.removeGroup(s)
	case "prune":
		next.prune(s)
	case "protect", "unprotect":
		next.protect(s)
	case "notes":
		return next, next.setNotes(s)
	case "change-owner":
		group := next.groups[s.group()]
		group.owner = backupinfo.AuthID(s.Text)
		next.groups[s.group()] = group
	case "verify":
		next.verify(bad)
	}
	return next, nil
}

func (m model) backUp(s step) error {
	if !m.namespaces[s.group().Namespace] {
		return datastore.ErrNotFound
	}
	owner := backupinfo.AuthID(s.Text)
	if group, ok := m.groups[s.group()]; ok && group.owner != owner {
		return datastore.ErrNotOwner
	}
	if s.Flag {
		if _, ok := m.groups[s.group()]; !ok {
			m.groups[s.group()] = groupModel{owner: owner}
		}
		m.snapshots[s.snapshot()] = snapshotModel{finished: true, data: s.Data}
	}
	return nil
}

func (m model) removeGroup(s step) error {
	for _, snapshot := range m.of(s.group()) {
		if m.snapshots[snapshot].protection.Protected && !s.Flag {
			return datastore.ErrProtected
		}
	}
	for _, snapshot := range m.of(s.group()) {
		if !m.snapshots[snapshot].protection.Protected {
			delete(m.snapshots, snapshot)
		}
	}
	m.tidy(s.group())
	return nil
}

// prune takes the decision from backupinfo, which has tests of its own.
func (m model) prune(s step) {
	if !s.Keep.Keeps() {
		return
	}
	var candidates []backupinfo.PruneCandidate
	for _, snapshot := range m.of(s.group()) {
		have := m.snapshots[snapshot]
		candidates = append(candidates, backupinfo.PruneCandidate{
			Snapshot: snapshot, Finished: have.finished, Protected: have.protection.Protected,
		})
	}
	for _, decision := range backupinfo.Prune(candidates, s.Keep, nil) {
		if !decision.Keep() {
			delete(m.snapshots, decision.Snapshot)
		}
	}
	m.tidy(s.group())
}

func (m model) protect(s step) {
	snapshot := m.snapshots[s.snapshot()]
	now := &snapshot.protection
	switch {
	case s.Do == "unprotect" && (!s.Flag || now.Until != 0 && now.Until <= backupinfo.TimeOf(time.Now())):
		*now = datastore.Protection{}
	case s.Do == "protect":
		now.Protected = true
		if s.Until != 0 {
			now.Until = s.Until
		}
		if s.Text != "" {
			now.Reason = s.Text
		}
	}
	m.snapshots[s.snapshot()] = snapshot
}

func (m model) setNotes(s step) error {
	if s.Time == 0 {
		group := m.groups[s.group()]
		group.notes = s.Text
		m.groups[s.group()] = group
		return nil
	}
	snapshot := m.snapshots[s.snapshot()]
	if !snapshot.finished {
		return datastore.ErrUnfinished
	}
	snapshot.notes = s.Text
	m.snapshots[s.snapshot()] = snapshot
	return nil
}

func (m model) verify(bad func(digit byte) bool) {
	for key, snapshot := range m.snapshots {
		if !snapshot.finished {
			continue
		}
		snapshot.verdict = backupinfo.VerifyOK
		for _, digit := range []byte(snapshot.data) {
			if bad(digit) {
				snapshot.verdict = backupinfo.VerifyFailed
			}
		}
		m.snapshots[key] = snapshot
	}
}

// uses tells whether a finished snapshot has this content.
func (m model) uses(digit byte) bool {
	for _, snapshot := range m.snapshots {
		for _, d := range []byte(snapshot.data) {
			if d == digit && snapshot.finished {
				return true
			}
		}
	}
	return false
}
