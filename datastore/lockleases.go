package datastore

import (
	"path"
	"strconv"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

// leases tells of the store locks, of whatever host, where those are in force. Who only
// waits for one is left out.
func (l *lockLister) leases() error {
	scheme, err := readScheme(l.root)
	if err != nil {
		return l.skip(schemeName, err)
	}
	if scheme.Mode == LockLocal {
		return nil
	}
	return l.store.eachStoreLock(l.ctx, func(name string, place *dirstore.Store) error {
		at := path.Join(storeLockDir, name)
		found, err := storelock.List(l.ctx, place, l.store.storeLockOptions(scheme))
		if err != nil {
			return l.skip(at, err)
		}
		for _, lease := range found {
			info := leaseInfo(name, lease)
			if lease.Waiting || !l.wants(info) {
				continue
			}
			if !l.yield(info, nil) {
				return errEnough
			}
		}
		return nil
	})
}

// wants tells whether a lease is asked for. Those of a group's snapshots are also those of each of them.
func (l *lockLister) wants(info LockInfo) bool {
	switch {
	case l.opts.OnlyStore:
		return info.Resource == LockOnStore
	case l.opts.Within != nil:
		_, one := l.opts.Within.Snapshot()
		return info.Object.Group == l.opts.Within.Group && (!one || info.Resource != LockOnGroup)
	}
	return true
}

func leaseInfo(name string, lease storelock.Info) LockInfo {
	info := LockInfo{Resource: LockOnOther, Means: LockByLease, Path: path.Join(storeLockDir, name, lease.Name), Lease: &lease}
	info.Resource, info.Object.Group = leaseResource(name, lease)
	info.Holder = flock.Holder{PID: -1, UID: -1, Mode: flock.Exclusive}
	if lease.Err != nil {
		return info // which counts as exclusive
	}
	info.Holder.PID, info.Holder.User, info.Holder.Since = int(lease.PID), lease.User, lease.Since
	command := strconv.Quote(lease.Command)
	info.Holder.Command = command[1 : len(command)-1]
	if uid, err := strconv.ParseInt(lease.User, 10, 32); err == nil {
		info.Holder.UID = int(uid)
	}
	if !lease.Exclusive {
		info.Holder.Mode = flock.Shared
	}
	return info
}

// leaseResource finds out what a lock directory is for: by its name, or, where that is a hash, by what lies in it.
func leaseResource(name string, lease storelock.Info) (LockResource, backupinfo.Group) {
	resource, ok := storelock.Resource(name)
	if !ok && storelock.ResourceDir(lease.Message) == name {
		resource = lease.Message
	}
	switch resource {
	case storeResource:
		return LockOnStore, backupinfo.Group{}
	case treeResource:
		return LockOnNamespace, backupinfo.Group{}
	}
	kind, dir, _ := strings.Cut(resource, "/")
	group, err := parseGroupDir(dir)
	on, known := map[string]LockResource{groupKind: LockOnGroup, snapshotsKind: LockOnSnapshot, manifestsKind: LockOnManifest}[kind]
	if err != nil || !known {
		return LockOnOther, backupinfo.Group{}
	}
	return on, group
}

// parseGroupDir is the opposite of backupinfo.Group.Dir.
func parseGroupDir(dir string) (backupinfo.Group, error) {
	above, id := path.Split(dir)
	above, kind := path.Split(strings.TrimSuffix(above, "/"))
	ns, err := backupinfo.ParseNamespaceDir(strings.TrimSuffix(above, "/"))
	if err != nil {
		return backupinfo.Group{}, err
	}
	return backupinfo.ParseGroup(ns, kind+"/"+id)
}
