package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// CheckOptions are how a store's structure is looked at.
type CheckOptions struct {
	// Chunks looks at every file of a chunk too: whether it has bytes, what it is,
	// whose it is. Else their names alone are read, which is many times faster.
	Chunks bool
	// Repair mends what can be mended without any harm. It needs the store's lock
	// exclusively: no backup runs meanwhile.
	Repair bool
	// Each is called with each finding; there may be very many.
	Each func(Finding)
}

// CheckReport is what was looked at, and how many findings there were.
type CheckReport struct {
	Namespaces, Groups, Snapshots int
	// ChunkDirectories are those that are there, ChunkFiles what is in them under the names of chunks.
	ChunkDirectories, ChunkFiles int
	// Errors, Warnings and Notes count the findings that stand: those that were
	// repaired, and those of Unchecked, are not among them.
	Errors, Warnings, Notes int
	// Unchecked is what could not be looked at.
	Unchecked int
	// Repaired is how many findings were mended.
	Repaired int
	Duration time.Duration
}

// Check looks at the structure of the store: at every directory, at what the files
// of snapshots are and whether they fit their manifests, and at the names of
// the chunks. It reads no chunk: that is what [Datastore.Verify] is for. What is wrong
// goes to Each, and stops nothing; the error is for a store that could not be
// looked at, or not be repaired, at all.
//
// Without Repair it takes no lock and changes nothing. With it, everything is first
// looked at under the lock; a store with another one inside, or one that is the cache of an
// object store, is refused, and so is one with a directory that can't be read, or one
// where a file system that belongs there is not mounted. What a repair does is this: it makes what is missing of
// the chunk directories and .lock, gives directories and files the store's owner and
// sound permissions, and removes temporary files and leftovers that nobody can be
// working on. It removes no snapshot, no index and no chunk. It may be interrupted at
// any moment.
func (d *Datastore) Check(ctx context.Context, opts CheckOptions) (report CheckReport, err error) {
	start := time.Now()
	if opts.Repair {
		report, err = d.repair(ctx, opts)
	} else {
		report, err = d.look(ctx, opts)
	}
	report.Duration = time.Since(start)
	return report, err
}

func (d *Datastore) look(ctx context.Context, opts CheckOptions) (CheckReport, error) {
	root, err := d.openRoot()
	if err != nil {
		return CheckReport{}, err
	}
	defer root.Close()
	c, err := d.newChecker(root, opts)
	if err != nil {
		return CheckReport{}, err
	}
	if c.chunks, err = chunkstore.Open(root, chunkstore.Options{}); err != nil {
		c.unchecked(chunkDirName, err)
	} else {
		defer c.chunks.Close() //nolint:errcheck // it was only read
	}
	err = c.run(ctx)
	return c.report, err
}

func (d *Datastore) repair(ctx context.Context, opts CheckOptions) (report CheckReport, err error) {
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return report, err
	}
	defer root.Close()
	c, err := d.newChecker(root, opts)
	if err != nil {
		return report, err
	}
	c.disk = disk
	if c.chunks, err = chunkstore.Open(root, chunkstore.Options{Disk: disk}); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, c.chunks.Close()) }()
	locked, err := exists(root, lockFileName)
	if err != nil {
		return report, err
	}
	c.madeLock = !locked
	set, err := d.acquire(ctx, func(set *guards) (err error) {
		c.lock, err = lockStoreExclusive(ctx, set, c.chunks)
		return err
	})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	err = c.mend(ctx)
	return c.report, err
}

// checker is one run of Check.
type checker struct {
	*Datastore
	opts   CheckOptions
	root   *os.File
	owner  fsop.Owner // of the root, and so of everything
	chunks *chunkstore.Store
	report CheckReport

	// For a repair.
	disk      *fsop.Disk
	lock      *flock.ExclusiveGuard
	madeLock  bool
	surveying bool // looking for what speaks against it; nothing is told yet
	blocked   *Finding
	unseen    error // what the survey could not look into, the first
}

func (d *Datastore) newChecker(root *os.File, opts CheckOptions) (*checker, error) {
	stat, err := beneath.Stat(root, ".")
	return &checker{Datastore: d, opts: opts, root: root, owner: fsop.Owner{UID: int(stat.Uid), GID: int(stat.Gid)}}, err
}

// mend goes through the store twice: before anything is changed, all that speaks
// against it must have been seen.
func (c *checker) mend(ctx context.Context) error {
	c.surveying = true
	if err := c.run(ctx); err != nil {
		return err
	}
	if err := c.refusal(); err != nil {
		return err
	}
	c.surveying, c.report = false, CheckReport{}
	err := c.run(ctx)
	if c.report.Repaired > 0 {
		err = errors.Join(err, c.disk.SyncFS(c.root))
	}
	return err
}

// refusal is the error of a repair that would do harm, or might: behind what could
// not be looked into there may be just what forbids it.
func (c *checker) refusal() error {
	if c.blocked == nil {
		return c.unseen
	}
	reason := ErrNested
	if c.blocked.Kind == FindingObjectCache {
		reason = ErrNotDatastore
	}
	return fmt.Errorf("nothing was repaired: %q %s: %w", c.blocked.Path, c.blocked.Detail, reason)
}

// run looks at everything once.
func (c *checker) run(ctx context.Context) error {
	c.checkOutside()
	c.checkRoot(ctx)
	if c.chunks != nil {
		c.checkChunks(ctx)
	}
	return ctx.Err()
}

// found tells a finding. mend does something about it; it is called only in a
// repair, and nil where there is nothing to be done.
func (c *checker) found(kind FindingKind, path, detail string, mend func() error) {
	f := Finding{Kind: kind, Severity: kind.Severity(), Path: path, Detail: detail, Repairable: mend != nil}
	if c.surveying {
		if kind.blocks() && c.blocked == nil {
			c.blocked = &f
		}
		return
	}
	if c.disk != nil && mend != nil {
		f.Err = mend()
		f.Repaired = f.Err == nil
	}
	c.tell(f)
}

// unchecked tells of what could not be looked at. What has vanished is nobody's trouble.
func (c *checker) unchecked(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) || c.surveying {
		return
	}
	c.tell(Finding{Kind: FindingUnchecked, Severity: SeverityError, Path: path, Detail: "could not be checked", Err: err})
}

// unlisted is unchecked for what may hold another store, or the marks of a cache.
func (c *checker) unlisted(path string, err error) {
	if c.surveying && c.unseen == nil && !errors.Is(err, fs.ErrNotExist) {
		c.unseen = fmt.Errorf("nothing was repaired: %q could not be looked into, and may hold what forbids a repair; make it readable, or be root: %w", path, err)
	}
	c.unchecked(path, err)
}

func (c *checker) tell(f Finding) {
	switch {
	case f.Repaired:
		c.report.Repaired++
	case f.Kind == FindingUnchecked:
		c.report.Unchecked++
	case f.Severity == SeverityError:
		c.report.Errors++
	case f.Severity == SeverityWarning:
		c.report.Warnings++
	default:
		c.report.Notes++
	}
	if c.opts.Each != nil {
		c.opts.Each(f)
	}
}

// trouble tells an error of reading from one that says what was read.
func trouble(err error) bool {
	if errors.Is(err, beneath.ErrNotRegular) || errors.Is(err, beneath.ErrSymlink) || errors.Is(err, unix.ENOTDIR) {
		return false
	}
	_, isPath := errors.AsType[*fs.PathError](err)
	return isPath && !errors.Is(err, fs.ErrNotExist)
}
