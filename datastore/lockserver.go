package datastore

import (
	"errors"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/pbsrun"
)

// serverFile is a lock file of the server that somebody has locked.
type serverFile struct {
	pbsrun.LockFile
	info  LockInfo
	known bool // what it is of
}

// serverFiles lists those that are locked, before the store is walked: some have to
// be found by what is in it.
func (l *lockLister) serverFiles() ([]*serverFile, error) {
	served, err := l.store.served()
	if err != nil || served == nil {
		return nil, l.skip("datastore.cfg", err)
	}
	l.hashed = map[string]*serverFile{}
	var files []*serverFile
	for file, err := range served.LockFiles() {
		if err != nil {
			if err := l.skip(file.Path, err); err != nil {
				return nil, err
			}
			continue
		}
		if l.survey.Has(file.Dev, file.Ino) {
			one := newServerFile(file)
			if !one.known {
				l.hashed[file.Name] = one
			}
			files = append(files, one)
		}
	}
	return files, nil
}

func newServerFile(file pbsrun.LockFile) *serverFile {
	one := &serverFile{LockFile: file, info: LockInfo{Resource: LockOnOther, Means: LockByServer, Path: file.Path}}
	role, namespace, thing := pbsrun.ParseLockName(file.Name)
	if role == pbsrun.OfStore {
		one.info.Resource, one.known = LockOnStore, true
		return one
	}
	ns, err1 := backupinfo.ParseNamespace(namespace)
	object, err2 := backupinfo.ParseObject(ns, thing)
	if role != pbsrun.OfUnknown && errors.Join(err1, err2) == nil {
		one.is(object, role == pbsrun.OfManifest)
	}
	return one
}

func (f *serverFile) is(object backupinfo.Object, manifest bool) {
	f.known, f.info.Object = true, object
	switch {
	case manifest:
		f.info.Resource = LockOnManifest
	case object.IsSnapshot:
		f.info.Resource = LockOnSnapshot
	default:
		f.info.Resource = LockOnGroup
	}
}

// unhash finds out whether a lock file is of the object.
func (l *lockLister) unhash(object backupinfo.Object) {
	if len(l.hashed) == 0 {
		return
	}
	ns := object.Group.Namespace.String()
	if file := l.hashed[pbsrun.LockName(ns, object.String())]; file != nil {
		file.is(object, false)
	}
	if file := l.hashed[pbsrun.ManifestLockName(ns, object.String())]; file != nil && object.IsSnapshot {
		file.is(object, true)
	}
}

// tellServer tells of the server's files.
func (l *lockLister) tellServer(files []*serverFile) error {
	for _, file := range files {
		if !l.wanted(file.info) {
			continue
		}
		if err := l.tell(file.info, file.Dev, file.Ino); err != nil {
			return err
		}
	}
	return nil
}

// wanted tells whether what a lock is on was asked for.
func (l *lockLister) wanted(info LockInfo) bool {
	within := l.opts.Within
	switch {
	case l.opts.OnlyStore:
		return info.Resource == LockOnStore
	case within == nil:
		return true
	case info.Resource == LockOnStore || info.Resource == LockOnOther || info.Object.Group != within.Group:
		return false
	}
	return !within.IsSnapshot || info.Object == *within
}
