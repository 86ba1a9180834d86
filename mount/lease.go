package mount

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// lease is a snapshot that is open, and so locked, for as long as somebody uses it and a while longer.
type lease struct {
	all      *leases
	snapshot backupinfo.Snapshot
	ready    chan struct{} // closed when reader or err is there
	reader   *datastore.SnapshotReader
	err      error

	// guarded by all.mu
	users int
	until time.Time // the kernel remembers something of it up to then
	used  time.Time // when the last user left
	timer *time.Timer

	mu       sync.Mutex
	archives map[backupinfo.ArchiveName]*openArchive
	looked   time.Time // when the name was found to be right
	failed   error     // the lock protects nothing any more
}

// leases are those of a mount.
type leases struct {
	ctx   context.Context //nolint:containedctx // that of the mount: requests come and go
	store *datastore.Datastore
	read  datastore.ReadOptions
	idle  time.Duration
	empty func() // called when there is none any more

	mu   sync.Mutex
	open map[backupinfo.Snapshot]*lease
	work sync.WaitGroup // leases that are not closed yet
	errs func(path string, err error)
}

// maxLeases is how many snapshots stay open that nobody uses, if the kernel remembers nothing of them.
const maxLeases = 32

// lookAgain is how often a snapshot in use is compared with its name, against those who remove without asking.
const lookAgain = time.Second

func newLeases(ctx context.Context, store *datastore.Datastore, read datastore.ReadOptions, idle time.Duration) *leases {
	return &leases{ctx: context.WithoutCancel(ctx), store: store, read: read, idle: idle, open: map[backupinfo.Snapshot]*lease{}}
}

// acquire opens a snapshot, or joins those who use it. It has to be released.
func (ls *leases) acquire(ctx context.Context, snapshot backupinfo.Snapshot) (*lease, error) {
	l, isNew := ls.join(snapshot)
	if isNew {
		l.hold()
		go l.openReader()
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
		l.release(0)
		return nil, context.Cause(ctx)
	}
	err := l.err
	if err == nil {
		err = l.check(time.Now())
	}
	if err != nil {
		ls.drop(l)
		l.release(0)
		return nil, err
	}
	return l, nil
}

// openReader is not for the first user alone, and so does not end with the request of that one.
func (l *lease) openReader() {
	defer l.release(0)
	l.reader, l.err = l.all.store.OpenSnapshot(l.all.ctx, l.snapshot, l.all.read)
	close(l.ready)
}

func (ls *leases) join(snapshot backupinfo.Snapshot) (l *lease, isNew bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l = ls.open[snapshot]; l == nil {
		l = &lease{all: ls, snapshot: snapshot, ready: make(chan struct{}), archives: map[backupinfo.ArchiveName]*openArchive{}, looked: time.Now()}
		ls.open[snapshot] = l
		ls.work.Add(1)
		isNew = true
	}
	l.users++
	return l, isNew
}

// drop makes the next user open the snapshot anew.
func (ls *leases) drop(l *lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.open[l.snapshot] == l {
		delete(ls.open, l.snapshot)
	}
}

// check tells whether the snapshot is still what its name stands for.
func (l *lease) check(now time.Time) error {
	select {
	case <-l.reader.Lost():
	default:
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.failed != nil || now.Sub(l.looked) < lookAgain {
			return l.failed
		}
		l.looked = now
		l.failed = l.reader.Check()
		return l.failed
	}
	return l.reader.Check()
}

// hold adds a user to a lease that has one.
func (l *lease) hold() {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	l.users++
}

// release is the end of one use. The kernel may remember what was told of it for as long as keep.
func (l *lease) release(keep time.Duration) {
	ls := l.all
	ls.mu.Lock()
	defer ls.mu.Unlock()
	now := time.Now()
	l.users--
	l.used = now
	if until := now.Add(2 * keep); keep > 0 && until.After(l.until) { // twice, for the answer is still on its way
		l.until = until
	}
	if l.users > 0 {
		return
	}
	if ls.open[l.snapshot] != l { // dropped
		ls.closeLater(l)
		return
	}
	ls.plan(l, now)
	ls.shrink(now)
}

// plan has the lease looked at when it may be idle.
func (ls *leases) plan(l *lease, now time.Time) {
	due := l.used.Add(ls.idle)
	if l.until.After(due) {
		due = l.until
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(due.Sub(now), func() { ls.expire(l) })
		return
	}
	l.timer.Reset(due.Sub(now))
}

func (ls *leases) expire(l *lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	now := time.Now()
	if l.users > 0 || ls.open[l.snapshot] != l {
		return
	}
	if now.Before(l.used.Add(ls.idle)) || now.Before(l.until) {
		ls.plan(l, now)
		return
	}
	ls.remove(l)
}

// shrink closes those that were unused for longest where there are too many.
func (ls *leases) shrink(now time.Time) {
	for len(ls.open) > maxLeases {
		var oldest *lease
		for _, l := range ls.open {
			if l.users == 0 && !now.Before(l.until) && (oldest == nil || l.used.Before(oldest.used)) {
				oldest = l
			}
		}
		if oldest == nil {
			return
		}
		ls.remove(oldest)
	}
}

func (ls *leases) remove(l *lease) {
	delete(ls.open, l.snapshot)
	ls.closeLater(l)
}

// closeLater closes a lease that nobody can find any more, outside of the lock.
func (ls *leases) closeLater(l *lease) {
	if l.timer != nil {
		l.timer.Stop()
	}
	isLast := len(ls.open) == 0
	go func() {
		defer ls.work.Done()
		l.close()
		if isLast {
			ls.empty()
		}
	}()
}

func (l *lease) close() {
	var err error
	for _, a := range l.archives {
		err = errors.Join(err, a.archive.Close())
	}
	if err = errors.Join(err, l.reader.Close()); err != nil {
		l.all.errs(l.snapshot.Dir(), err)
	}
}

// closeAll closes all leases, and waits for it. Nobody acquires one any more.
func (ls *leases) closeAll() {
	ls.mu.Lock()
	for _, l := range ls.open {
		if l.users == 0 {
			ls.remove(l)
		} else {
			delete(ls.open, l.snapshot) // whoever is the last to use it closes it
		}
	}
	ls.mu.Unlock()
	ls.work.Wait()
}
