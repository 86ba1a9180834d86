package datastore_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// errRefused is an error of no class.
var errRefused = errors.New("refused")

// afterTree is what a step makes of the model that changes the tree of namespaces,
// or moves something in it.
func (m model) afterTree(s step) error {
	switch s.Do {
	case "create-namespace":
		return m.createNamespace(namespace(s.NS), s.Flag)
	case "remove-namespace":
		return m.removeNamespace(namespace(s.NS), s.Flag)
	case "move-namespace":
		return m.moveNamespace(namespace(s.NS), namespace(s.Text))
	}
	return m.moveGroup(s)
}

func (m model) createNamespace(ns backupinfo.Namespace, parents bool) error {
	switch {
	case m.namespaces[ns]:
		return datastore.ErrExists
	case !parents && !m.namespaces[ns.Parent()]:
		return datastore.ErrNotFound
	}
	for ; !ns.IsRoot(); ns = ns.Parent() {
		m.namespaces[ns] = true
	}
	return nil
}

func (m model) removeNamespace(ns backupinfo.Namespace, deleteGroups bool) error {
	if !m.namespaces[ns] {
		return datastore.ErrNotFound
	}
	for group := range m.groups {
		if ns.Contains(group.Namespace) && !deleteGroups {
			return datastore.ErrNotEmpty
		}
	}
	for snapshot, is := range m.snapshots {
		if ns.Contains(snapshot.Group.Namespace) && is.protection.Protected {
			return datastore.ErrProtected
		}
	}
	m.replace(func(old backupinfo.Namespace) (backupinfo.Namespace, bool) { return old, !ns.Contains(old) })
	return nil
}

func (m model) moveNamespace(from, to backupinfo.Namespace) error {
	switch {
	case from == to:
		return datastore.ErrExists
	case from.Contains(to):
		return errRefused
	case !m.namespaces[from], !m.namespaces[to.Parent()]:
		return datastore.ErrNotFound
	case m.namespaces[to]:
		return datastore.ErrExists
	}
	m.replace(func(old backupinfo.Namespace) (backupinfo.Namespace, bool) {
		if below, ok := strings.CutPrefix(old.String(), from.String()); ok && from.Contains(old) {
			return namespace(to.String() + below), true
		}
		return old, true
	})
	return nil
}

// replace gives each namespace with all in it the name that rename gives, or takes it away.
func (m model) replace(rename func(old backupinfo.Namespace) (backupinfo.Namespace, bool)) {
	was := m.clone()
	clear(m.namespaces)
	clear(m.groups)
	clear(m.snapshots)
	for ns := range was.namespaces {
		if now, stays := rename(ns); stays {
			m.namespaces[now] = true
		}
	}
	for group, is := range was.groups {
		var stays bool
		if group.Namespace, stays = rename(group.Namespace); stays {
			m.groups[group] = is
		}
	}
	for snapshot, is := range was.snapshots {
		var stays bool
		if snapshot.Group.Namespace, stays = rename(snapshot.Group.Namespace); stays {
			m.snapshots[snapshot] = is
		}
	}
}

func (m model) moveGroup(s step) error {
	from, to := s.group(), s.target()
	moving, isThere := m.groups[from]
	staying, merging := m.groups[to]
	switch {
	case from == to:
		return datastore.ErrExists
	case !isThere, !m.namespaces[to.Namespace]:
		return datastore.ErrNotFound
	case merging && s.Do != "merge-group":
		return datastore.ErrExists
	case merging && moving.owner != staying.owner:
		return datastore.ErrNotOwner
	case merging && moving.notes != staying.notes && moving.notes != "" && staying.notes != "":
		return errRefused
	case merging && moving.notes == "":
		moving.notes = staying.notes
	}
	for _, snapshot := range m.of(from) {
		m.snapshots[backupinfo.Snapshot{Group: to, Time: snapshot.Time}] = m.snapshots[snapshot]
		delete(m.snapshots, snapshot)
	}
	delete(m.groups, from)
	m.groups[to] = moving
	return nil
}

// target is where a step moves its group.
func (s step) target() backupinfo.Group {
	group := s.group()
	group.Namespace = namespace(s.Text)
	return group
}

// inOnePlace makes sure that what was to be merged is in one of the two groups each.
func (m model) inOnePlace(s step, before model) error {
	for _, old := range before.of(s.group()) {
		_, stayed := m.snapshots[old]
		moved, has := m.snapshots[backupinfo.Snapshot{Group: s.target(), Time: old.Time}]
		if s.group() != s.target() && stayed == has || has && moved != before.snapshots[old] {
			return fmt.Errorf("%s is in its old place: %t, and in its new one: %t", old, stayed, has)
		}
	}
	return nil
}
