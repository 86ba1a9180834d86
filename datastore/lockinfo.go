package datastore

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/storelock"
)

// LockResource is what a lock is on.
type LockResource string

// The resources.
const (
	LockOnStore    LockResource = "datastore"
	LockOnGroup    LockResource = "group"
	LockOnSnapshot LockResource = "snapshot"
	LockOnManifest LockResource = "manifest"
	// LockOnNamespace is on a namespace that is removed or moved; on the root's, it is on
	// which namespaces there are.
	LockOnNamespace LockResource = "namespace"
	// LockOnOther is on something in the store of which no operation makes sense to name
	// it, such as what is on its way in or out.
	LockOnOther LockResource = "other"
)

// LockMeans is how a resource is locked.
type LockMeans string

// The means.
const (
	LockByDirectory LockMeans = "directory" // flock(2) on the directory itself
	LockByFile      LockMeans = "file"      // flock(2) on the file itself
	LockByRecord    LockMeans = "record"    // a record lock on .lock
	LockByServer    LockMeans = "server"    // flock(2) on a file in the server's run directory
	LockByLease     LockMeans = "lease"     // a store lock, perhaps of another host
)

// LockInfo is one process that holds one lock.
type LockInfo struct {
	Resource LockResource
	// Object is the group, or the snapshot, whose manifest it may be. It is zero for the
	// datastore and others, and has the namespace only where that is what is locked. A lease on
	// snapshots or manifests is on all of the group that it has.
	Object backupinfo.Object
	Means  LockMeans
	// Path is the locked file: relative to the store, or absolute for the server's.
	Path string
	// Holder is who has it, and in which mode. Of a lease, Since is when it was taken, by the
	// holder's clock, and PID is that of a process on the holder's host, which Lease names.
	Holder flock.Holder
	// Lease is what a store lock says of itself and since when it was seen unchanged; nil: it is none.
	Lease *storelock.Info
	// Activities are what the holder says that it does, see [ActivityPlace].
	Activities []Activity
	// Tasks are those of the server for one of which its process holds the lock.
	Tasks []backupinfo.UPID
}

// LocksOptions narrow what [Datastore.Locks] lists.
type LocksOptions struct {
	// Within leaves out what is not this group or snapshot, or in it. nil is all.
	Within *backupinfo.Object
	// OnlyStore leaves out all but the locks of the datastore as a whole.
	OnlyStore bool
	// Hidden is called where there are processes that this one may not look at. Their
	// locks are listed as far as /proc/locks has them: that is all where it shows the
	// processes of this machine, and little in a container.
	Hidden func(processes int)
	// Proc is a proc file system; "" is /proc.
	Proc string
}

// Locks lists all locks on the store, and who holds them: those of this program, of
// other programs that lock its files, those that a server of this machine has
// on files of its own, and the leases of a store that several hosts share, of which one and the same
// operation has several, besides its other locks. It is one look at a moment: it takes no lock, and what it tells may
// be over. The order is that of the namespaces, groups and snapshots; what belongs
// to the datastore as a whole comes first, and the server's files and the leases last. An
// [EntryError] stands for what could not be looked at; other errors end the listing.
//
// It costs one pass over the processes of the machine and one over the store's
// directories, which are only looked at where there is a lock at all.
func (d *Datastore) Locks(ctx context.Context, opts LocksOptions) iter.Seq2[LockInfo, error] {
	return func(yield func(LockInfo, error) bool) {
		root, err := d.openRoot()
		if err != nil {
			yield(LockInfo{}, err)
			return
		}
		defer root.Close()
		if err := checkWithin(root, opts); err != nil {
			yield(LockInfo{}, err)
			return
		}
		l := &lockLister{ctx: ctx, store: d, opts: opts, root: root, yield: yield, seen: map[identity]bool{}}
		err = l.run()
		if err == nil {
			err = l.leases()
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(LockInfo{}, err)
		}
	}
}

func checkWithin(root *os.File, opts LocksOptions) error {
	if opts.Within == nil {
		return nil
	}
	if snapshot, ok := opts.Within.Snapshot(); ok {
		return findSnapshot(root, snapshot)
	}
	return findGroup(root, opts.Within.Group)
}

// errEnough ends the listing where the caller wants no more.
var errEnough = errors.New("enough")

// lockLister is one listing.
type lockLister struct {
	ctx    context.Context //nolint:containedctx // of the one call that it lives for
	store  *Datastore
	opts   LocksOptions
	root   *os.File
	yield  func(LockInfo, error) bool
	survey *flock.Survey
	knows  *informer
	seen   map[identity]bool      // locked files that were told of
	hashed map[string]*serverFile // those of which the name does not tell what they are of
}

func (l *lockLister) run() error {
	trees, closeAll := l.trees()
	defer closeAll()
	var err error
	l.survey, err = flock.NewSurvey(l.ctx, flock.SurveyOptions{Proc: l.opts.Proc}, trees...)
	if err != nil {
		return err
	}
	if n := l.survey.Hidden(); n > 0 && l.opts.Hidden != nil {
		l.opts.Hidden(n)
	}
	if l.survey.Empty() {
		return nil
	}
	l.knows = l.store.informer()
	if err := l.ofStore(); err != nil {
		return err
	}
	server, err := l.serverFiles()
	if err == nil && !l.opts.OnlyStore {
		err = l.walk()
	}
	if err == nil && l.opts.Within == nil && !l.opts.OnlyStore {
		err = l.others()
	}
	if err == nil {
		err = l.tellServer(server)
	}
	return err
}

// trees are the store, under the name that the kernel has for it, and the server's run directory.
func (l *lockLister) trees() (trees []*os.File, closeAll func()) {
	trees = []*os.File{l.root}
	if served, err := l.store.served(); err == nil && served != nil {
		if run, err := served.RunDir(); err == nil {
			trees = append(trees, run)
			return trees, func() { _ = run.Close() }
		}
	}
	return trees, func() {}
}

// tell gives the caller each holder of the file.
func (l *lockLister) tell(info LockInfo, dev, ino uint64) error {
	if l.survey.Has(dev, ino) {
		l.seen[identity{dev, ino}] = true
	}
	for _, holder := range l.survey.Holders(dev, ino) {
		info.Holder = holder
		info.Activities = l.knows.activities(holder, thingOf(info))
		info.Tasks = l.knows.tasksOf(holder, thingOf(info))
		info.Holder.Doing = l.knows.doing(holder, thingOf(info))
		if !l.yield(info, nil) {
			return errEnough
		}
	}
	return nil
}

func thingOf(info LockInfo) string {
	switch info.Resource { //nolint:exhaustive // the others are in the directory of their object
	case LockOnStore:
		return ""
	case LockOnOther:
		return info.Path
	case LockOnNamespace:
		return info.Object.Group.Namespace.Dir()
	}
	if snapshot, ok := info.Object.Snapshot(); ok {
		return snapshot.Dir()
	}
	return info.Object.Group.Dir()
}

// skip tells of what could not be looked at, and goes on. What is gone is no loss.
func (l *lockLister) skip(path string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotFound) {
		return nil
	}
	if !l.yield(LockInfo{}, &EntryError{Path: path, Err: err}) {
		return errEnough
	}
	return nil
}

// others are locked files in the store that no listing comes to. Their names are known
// from their holders.
func (l *lockLister) others() error {
	top := l.store.path
	if resolved, err := filepath.EvalSymlinks(top); err == nil {
		top = resolved
	}
	for _, file := range l.survey.Files() {
		name, inside := strings.CutPrefix(file.Path, top+"/")
		if file.Path == top {
			name, inside = ".", true
		}
		if !inside || l.seen[identity{file.Dev, file.Ino}] {
			continue
		}
		info := LockInfo{Resource: LockOnOther, Means: LockByFile, Path: name}
		if err := l.tell(info, file.Dev, file.Ino); err != nil {
			return err
		}
	}
	return nil
}
