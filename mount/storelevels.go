package mount

import (
	"context"
	"errors"
	"fmt"
	"path"
	"syscall"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// namespacesName is the directory of the namespaces below one, as in the store.
const namespacesName = "ns"

func subdirectory(name string) item { return item{name, syscall.S_IFDIR} }

func noSuch(kind, name string) error { return &datastore.NotFoundError{Kind: kind, Name: name} }

// passOver tells what a listing leaves out from what ends it.
func passOver(err error, hidden *int, first *error) bool {
	if _, ok := errors.AsType[*datastore.EntryError](err); !ok {
		return false
	}
	if *hidden++; *first == nil {
		*first = err
	}
	return true
}

// namespaceLevel is a namespace: the types of groups that there are, and what is below.
type namespaceLevel struct {
	fsys *filesystem
	ns   backupinfo.Namespace
}

func (l namespaceLevel) path() string { return l.ns.Dir() }

func (l namespaceLevel) there(ctx context.Context) (time.Time, error) {
	for _, err := range l.fsys.store.Namespaces(ctx, l.ns, 0) {
		return l.fsys.started, err
	}
	return l.fsys.started, noSuch("namespace", l.ns.String())
}

func (l namespaceLevel) list(ctx context.Context) (items []item, hidden int, first error, err error) {
	types := map[backupinfo.Type]bool{}
	for g, err := range l.fsys.store.Groups(ctx, l.ns) {
		if err == nil {
			types[g.Group.Type] = true
		} else if !passOver(err, &hidden, &first) {
			return nil, 0, nil, err
		}
	}
	for _, t := range backupinfo.Types() {
		if types[t] {
			items = append(items, subdirectory(string(t)))
		}
	}
	children, _, _, err := childrenLevel(l).list(ctx)
	if len(children) > 0 {
		items = append(items, subdirectory(namespacesName))
	}
	return items, hidden, first, err
}

func (l namespaceLevel) find(ctx context.Context, name string) (found, error) {
	if name == namespacesName {
		children, _, _, err := childrenLevel(l).list(ctx)
		if err == nil && len(children) == 0 {
			err = noSuch("directory", name)
		}
		return l.fsys.dir(childrenLevel(l), l.fsys.started), err
	}
	kind, err := backupinfo.ParseType(name)
	if err != nil {
		return found{}, noSuch("directory", name)
	}
	t := typeLevel{l.fsys, l.ns, kind}
	at, err := t.there(ctx)
	return l.fsys.dir(t, at), err
}

// childrenLevel are the namespaces directly below one.
type childrenLevel struct {
	fsys *filesystem
	ns   backupinfo.Namespace
}

func (l childrenLevel) path() string { return path.Join(l.ns.Dir(), namespacesName) }

func (l childrenLevel) there(ctx context.Context) (time.Time, error) {
	return namespaceLevel(l).there(ctx)
}

func (l childrenLevel) list(ctx context.Context) (items []item, hidden int, first error, err error) {
	for ns, err := range l.fsys.store.Namespaces(ctx, l.ns, 1) {
		switch {
		case err != nil && !passOver(err, &hidden, &first):
			return nil, 0, nil, err
		case err == nil && ns != l.ns:
			items = append(items, subdirectory(ns.Name()))
		}
	}
	return items, hidden, first, nil
}

func (l childrenLevel) find(ctx context.Context, name string) (found, error) {
	child, err := l.ns.Child(name)
	if err != nil {
		return found{}, noSuch("namespace", name)
	}
	at, err := namespaceLevel{l.fsys, child}.there(ctx)
	return l.fsys.dir(namespaceLevel{l.fsys, child}, at), err
}

// typeLevel are the groups of a type.
type typeLevel struct {
	fsys *filesystem
	ns   backupinfo.Namespace
	kind backupinfo.Type
}

func (l typeLevel) path() string { return path.Join(l.ns.Dir(), string(l.kind)) }

// there looks first for the group that showed it the last time: a namespace may have very many.
func (l typeLevel) there(ctx context.Context) (time.Time, error) {
	if example, ok := l.fsys.examples.Load(l.path()); ok {
		if _, err := l.fsys.store.Group(ctx, example.(backupinfo.Group)); err == nil {
			return l.fsys.started, nil
		}
	}
	for g, err := range l.fsys.store.Groups(ctx, l.ns) {
		if _, broken := errors.AsType[*datastore.EntryError](err); err != nil && !broken {
			return l.fsys.started, err
		}
		if err == nil && g.Group.Type == l.kind {
			l.fsys.examples.Store(l.path(), g.Group)
			return l.fsys.started, nil
		}
	}
	return l.fsys.started, noSuch("directory", l.path())
}

func (l typeLevel) list(ctx context.Context) (items []item, hidden int, first error, err error) {
	for g, err := range l.fsys.store.Groups(ctx, l.ns) {
		switch {
		case err != nil && !passOver(err, &hidden, &first):
			return nil, 0, nil, err
		case err == nil && g.Group.Type == l.kind:
			items = append(items, subdirectory(g.Group.ID))
		}
	}
	return items, hidden, first, nil
}

func (l typeLevel) find(ctx context.Context, name string) (found, error) {
	group, err := backupinfo.ParseGroup(l.ns, string(l.kind)+"/"+name)
	if err != nil {
		return found{}, noSuch("group", name)
	}
	at, err := groupLevel{l.fsys, group}.there(ctx)
	return l.fsys.dir(groupLevel{l.fsys, group}, at), err
}

// groupLevel are the snapshots of a group.
type groupLevel struct {
	fsys  *filesystem
	group backupinfo.Group
}

func (l groupLevel) path() string { return l.group.Dir() }

func (l groupLevel) there(ctx context.Context) (time.Time, error) {
	info, err := l.fsys.store.Group(ctx, l.group)
	if info.LastBackup == 0 {
		return l.fsys.started, err
	}
	return info.LastBackup.Clock(), err
}

func (l groupLevel) list(ctx context.Context) (items []item, hidden int, first error, err error) {
	for info, err := range l.fsys.store.Snapshots(ctx, l.group) {
		if err == nil && !info.Finished {
			err = &datastore.EntryError{Path: info.Snapshot.Dir(), Err: fmt.Errorf("the snapshot is %w", datastore.ErrUnfinished)}
		}
		switch {
		case err != nil && !passOver(err, &hidden, &first):
			return nil, 0, nil, err
		case err == nil:
			items = append(items, subdirectory(info.Snapshot.Time.String()))
		}
	}
	return items, hidden, first, nil
}

func (l groupLevel) find(ctx context.Context, name string) (found, error) {
	at, err := backupinfo.ParseTime(name)
	if err != nil || at.String() != name {
		return found{}, noSuch("snapshot", name)
	}
	s := snapshotLevel{fsys: l.fsys, snapshot: backupinfo.Snapshot{Group: l.group, Time: at}}
	when, err := s.there(ctx)
	return l.fsys.dir(s, when), err
}
