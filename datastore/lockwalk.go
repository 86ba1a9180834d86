package datastore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// ofStore tells of L1.
func (l *lockLister) ofStore() error {
	if l.opts.Within != nil {
		return nil
	}
	stat, err := beneath.Stat(l.root, lockFileName)
	if err != nil {
		return l.skip(lockFileName, err)
	}
	return l.tell(LockInfo{Resource: LockOnStore, Means: LockByRecord, Path: lockFileName}, stat.Dev, stat.Ino)
}

// walk goes through all that can be locked: groups, snapshots, manifests.
func (l *lockLister) walk() error {
	if within := l.opts.Within; within != nil {
		return l.group(within.Group)
	}
	for ns, err := range l.store.Namespaces(l.ctx, backupinfo.Namespace{}, -1) {
		if err == nil {
			err = l.namespace(ns)
		} else {
			err = l.skipEntry(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *lockLister) skipEntry(err error) error {
	if entry, ok := errors.AsType[*EntryError](err); ok {
		return l.skip(entry.Path, entry.Err)
	}
	return err
}

func (l *lockLister) namespace(ns backupinfo.Namespace) error {
	info := LockInfo{Resource: LockOnNamespace, Means: LockByDirectory, Path: path.Join(".", ns.Dir())}
	info.Object.Group.Namespace = ns
	if err := l.at(l.root, info.Path, info); err != nil {
		return err
	}
	for _, kind := range backupinfo.Types() {
		groups, broken := groupsOfType(l.root, ns, kind)
		for _, err := range broken {
			if err := l.skipEntry(err); err != nil {
				return err
			}
		}
		for _, group := range groups {
			if err := l.group(group); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lockLister) group(group backupinfo.Group) error {
	if err := l.ctx.Err(); err != nil {
		return context.Cause(l.ctx)
	}
	dir, err := beneath.OpenDir(l.root, group.Dir())
	if err != nil {
		return l.skip(group.Dir(), err)
	}
	defer dir.Close()
	only, one := backupinfo.Snapshot{}, false
	if l.opts.Within != nil {
		only, one = l.opts.Within.Snapshot()
	}
	if one {
		return l.snapshot(dir, only)
	}
	info := LockInfo{Resource: LockOnGroup, Object: backupinfo.Object{Group: group}, Means: LockByDirectory, Path: group.Dir()}
	if err := l.at(dir, ".", info); err != nil {
		return err
	}
	l.unhash(info.Object)
	times, broken, err := snapshotTimes(dir, group)
	if err != nil {
		return l.skip(group.Dir(), err)
	}
	for _, err := range broken {
		if err := l.skipEntry(err); err != nil {
			return err
		}
	}
	for _, time := range times {
		if err := l.snapshot(dir, backupinfo.Snapshot{Group: group, Time: time}); err != nil {
			return err
		}
	}
	return nil
}

// snapshot looks at a snapshot in the open directory of its group.
func (l *lockLister) snapshot(group *os.File, snapshot backupinfo.Snapshot) error {
	if err := l.ctx.Err(); err != nil {
		return context.Cause(l.ctx)
	}
	object := backupinfo.Object{Group: snapshot.Group, Time: snapshot.Time, IsSnapshot: true}
	l.unhash(object)
	name := snapshot.Time.String()
	info := LockInfo{Resource: LockOnSnapshot, Object: object, Means: LockByDirectory, Path: snapshot.Dir()}
	if err := l.at(group, name, info); err != nil {
		return err
	}
	manifest := path.Join(name, backupinfo.ManifestName)
	info = LockInfo{Resource: LockOnManifest, Object: object, Means: LockByFile, Path: path.Join(snapshot.Dir(), backupinfo.ManifestName)}
	return l.at(group, manifest, info)
}

// at tells of the locks on a file below an open directory.
func (l *lockLister) at(dir *os.File, name string, info LockInfo) error {
	stat, err := beneath.Stat(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return l.skip(info.Path, err)
	}
	return l.tell(info, stat.Dev, stat.Ino)
}
