package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// DefaultCutoff is for how long a chunk must have been left alone before a
// collection removes it: that of the original.
const DefaultCutoff = 24*time.Hour + 5*time.Minute

// NoCutoff removes every chunk that nothing refers to, however new it is.
const NoCutoff time.Duration = -1

// CollectOptions are how garbage is collected.
type CollectOptions struct {
	// Cutoff is the age that an unreferenced chunk must have: since it was written,
	// read, touched or renamed, whatever was last. 0 is DefaultCutoff.
	//
	// No writer runs during a collection, so that even NoCutoff endangers no
	// snapshot. The age keeps the chunks of a backup that was interrupted for the
	// next try.
	Cutoff time.Duration
	// DryRun makes every check, under the same lock, and changes nothing. It gives the error that the real one would give.
	DryRun bool
	// Touch sets the time of access of every chunk in use to now. It is for stores
	// that are collected by somebody who relies on it as well.
	Touch bool
	// ForgetMounts are directories, relative to the store, that are no mount points any
	// more, or for this once: that nothing is mounted there stops nothing.
	ForgetMounts []string
	// Now tells the time; nil is the clock.
	Now func() time.Time
}

// CollectReport is what a collection found and did. In a dry run the Removed
// figures are what would have been removed.
type CollectReport struct {
	// UPID names the run, as in .gc-status.
	UPID     backupinfo.UPID
	Duration time.Duration

	// IndexFiles is the number of indexes, IndexBytes the sum of the sizes of what they describe.
	IndexFiles int
	IndexBytes uint64
	// Referenced is the number of distinct chunks that they name, Missing how many of those are not there.
	Referenced, Missing int
	// Disk are the chunks that stay and are in use, with DiskBytes on disk. Empty
	// are those of them with a file of no bytes, which no reader can use.
	DiskChunks, Empty int
	DiskBytes         uint64
	// Removed are the chunks that are gone, and RemovedBytes all bytes that were freed.
	RemovedChunks int
	RemovedBytes  uint64
	// RemovedBad are files of damaged chunks that were removed, RemovedTemp those of
	// chunks that were never finished, RemovedLeftovers what crashed operations left.
	RemovedBad, RemovedTemp, RemovedLeftovers int
	// Pending are chunks that nothing refers to and that are not old enough, or were not reached.
	// PendingFrom is when the first of them will be old enough, PendingUntil when the
	// last will be, if nobody uses them; zero where there are none.
	PendingChunks             int
	PendingBytes              uint64
	PendingFrom, PendingUntil time.Time
	// StillBad are old files of damaged chunks that something refers to, and that nobody stored anew.
	StillBad int
	// Unexpected are the first indexes in places where no backup has any; they count like the others.
	Unexpected []string
	// Damaged are the first indexes that name chunks without a good file, by path;
	// DamagedIndexes is how many there are.
	Damaged        []DamagedIndex
	DamagedIndexes int
	// Blocked is what was found because of which nothing was removed: it may hide
	// references to chunks.
	Blocked []Blocker
}

// Collect removes the chunks that no index refers to any more. It holds the
// datastore's lock exclusively from before it looks at anything until nothing more
// is removed, so that no writer of any process can be running: flock.ErrLocked
// while one is.
//
// Every index anywhere below the store counts, but for hidden names. Nothing is
// removed before all of them were read and all chunk directories were looked
// through. A directory or an index that can't be read ends it before that. Where
// something may hide references (an index without a readable header, cut off, or with
// other entries than its checksum says, a symbolic link), all is looked through and
// nothing is removed; the error is then [ErrCorrupt] and the report names it in Blocked.
// The damaged index of a snapshot that a writer of this package never finished is no
// such thing: under the lock that writer is dead, and nobody can ever read the snapshot. A store with another one inside,
// or one that looks like the cache of an object store, is refused.
//
// What is on a file system that is not mounted now can't be seen. Where one belongs at
// the root or below it, as /etc/fstab says or as the last collection found, and isn't
// there, nothing is looked at: a [*UnmountedError]. The mount points are remembered in
// the hidden file .pbs-like-mounts.
//
// It may be interrupted, or die, at any moment; the next one goes on. After an
// error the report tells what was done so far.
func (d *Datastore) Collect(ctx context.Context, opts CollectOptions) (report CollectReport, err error) {
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return report, err
	}
	defer root.Close()
	chunks, err := chunkstore.Open(root, chunkstore.Options{Disk: disk})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, chunks.Close()) }()
	c := &collection{Datastore: d, opts: opts, root: root, disk: disk, chunks: chunks, marks: newSharedMarks()}
	set, err := d.acquire(ctx, func(set *guards) (err error) {
		if c.lock, err = lockStoreExclusive(ctx, set, chunks); err == nil && set.isShared() {
			err = checkSharedCutoff(opts)
		}
		return err
	})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	d.say(set, "collect", d.path, "")
	ctx, end := d.lease.bind(ctx)
	defer end(&err)
	err = c.run(ctx)
	return c.report, err
}

// leastSharedCutoff is the age below which nothing is removed where store locks
// are in force. A lease is no fence: what saves the chunks of a writer that is paused,
// and goes on after its lock was lost, is that they are young.
const leastSharedCutoff = 24 * time.Hour

func checkSharedCutoff(opts CollectOptions) error {
	if cutoff := cutoffOf(opts); cutoff < leastSharedCutoff {
		return fmt.Errorf("a cut-off of %v is too short for a store that several hosts share: at least %v", max(cutoff, 0), leastSharedCutoff)
	}
	return nil
}

// collection is one run of Collect.
type collection struct {
	*Datastore
	opts   CollectOptions
	root   *os.File
	disk   *fsop.Disk
	chunks *chunkstore.Store
	lock   *flock.ExclusiveGuard
	status *fsop.File // where the figures will be

	start     time.Time
	oldest    time.Time // what was last used before goes
	marks     *sharedMarks
	readers   *indexReaders
	mu        sync.Mutex // readers count under it
	report    CollectReport
	beside    []string // directories with leftovers in them
	temporary []string // files that were left in the middle of a rewrite
	leftovers int      // that are to go
	mounts    mountPoints
	plan      sweepPlan
	pending   pendingChunks
	removed   sweepTotals
}

func (c *collection) run(ctx context.Context) error {
	now := c.opts.Now
	if now == nil {
		now = time.Now
	}
	c.start = now()
	c.report.UPID = c.newUPID(taskCollect, c.start)
	c.oldest = c.start.Add(-cutoffOf(c.opts))
	c.beginStatus()
	defer c.endStatus() // it does nothing after writeStatus
	err := c.lookThrough(ctx)
	switch {
	case err != nil:
	case c.opts.DryRun:
		err = c.blocked() // as the real one would be
	default:
		err = c.clear(ctx)
	}
	c.conclude()
	c.report.Duration = now().Sub(c.start)
	if err == nil && !c.opts.DryRun {
		c.writeStatus()
	}
	return err
}

// lookThrough finds out all that there is to know, and changes nothing but times of access, where asked to.
func (c *collection) lookThrough(ctx context.Context) error {
	for _, step := range []func(context.Context) error{c.checkMounts, c.markAll, c.survey, c.surveyLeftovers, c.traceDamage} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func cutoffOf(opts CollectOptions) time.Duration {
	if opts.Cutoff == 0 {
		return DefaultCutoff
	}
	return opts.Cutoff
}

// isOld tells whether the age of something unreferenced lets it go.
func (c *collection) isOld(newest time.Time) bool {
	return c.opts.Cutoff < 0 || newest.Before(c.oldest)
}

// clear removes what the survey found, unless something stands against it.
func (c *collection) clear(ctx context.Context) error {
	if err := c.blocked(); err != nil {
		return err
	}
	// A removal that was seen here must not be undone by a power cut after which
	// the chunks are gone: the rename of the snapshot goes to disk first.
	if err := c.disk.SyncFS(c.root); err != nil {
		return err
	}
	if err := c.syncBeside(); err != nil {
		return err
	}
	// What was unmounted since it was looked for may have been passed over.
	if err := c.checkMounts(ctx); err != nil {
		return err
	}
	c.rememberMounts()
	if err := c.sweepChunks(ctx); err != nil {
		return err
	}
	if err := c.sweepLeftovers(ctx); err != nil {
		return err
	}
	return c.retireLocks(ctx)
}

// syncBeside makes the rename of each leftover durable that lies beside what it was:
// mostly it does so because that is on a disk of its own, which SyncFS doesn't reach.
func (c *collection) syncBeside() error {
	for _, name := range c.beside {
		dir, err := beneath.OpenDir(c.root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.Join(c.disk.SyncDir(dir), dir.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
