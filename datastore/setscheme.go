package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

// LockScheme tells which locks are in force. It takes none.
func (d *Datastore) LockScheme(ctx context.Context) (LockScheme, error) {
	if err := ctx.Err(); err != nil {
		return LockScheme{}, err
	}
	root, err := d.openRoot()
	if err != nil {
		return LockScheme{}, err
	}
	defer root.Close()
	return readScheme(root)
}

// LockReach tells on what file system the store is, and whether this machine's locks reach everybody there.
func (d *Datastore) LockReach() (flock.FS, error) {
	root, err := d.openRoot()
	if err != nil {
		return flock.FS{}, err
	}
	defer root.Close()
	return flock.Reach(root)
}

// SetLockSchemeOptions are how the scheme is changed.
type SetLockSchemeOptions struct {
	// OnlyHost is the word that no other host uses a store in local mode.
	OnlyHost bool
	// Stale is after what time a store lock that nobody renews is free; 0 is half an hour.
	Stale time.Duration
	// Test is how the store is tested before it is shared.
	Test storelock.SelfTestOptions
}

// SetLockScheme says which locks are in force from now on, for everybody. It is
// refused while anybody works with the store, as far as the locks before reach: who
// makes a store shared has to see to it that the other hosts leave it alone until then.
//
// A store that is to be shared is tested first (storelock.ErrStore). Local mode on a
// file system whose locks reach no other host needs the word that there is none
// ([ErrSharedStore]). After an error the old scheme is in force, or nobody may change the
// store until the scheme is set again, and the error says so.
func (d *Datastore) SetLockScheme(ctx context.Context, mode LockMode, opts SetLockSchemeOptions) (scheme LockScheme, err error) {
	d = d.begin()
	root, err := d.openRoot()
	if err != nil {
		return scheme, err
	}
	defer root.Close()
	if err := errors.Join(d.checkServer(root), d.checkUser(root)); err != nil {
		return scheme, err
	}
	disk, err := d.disk(root)
	if err != nil {
		return scheme, err
	}
	change := schemeChange{Datastore: d, root: root, disk: disk}
	if change.before, err = readScheme(root); err != nil {
		return scheme, err
	}
	if change.after, err = change.plan(ctx, mode, opts); err != nil {
		return scheme, err
	}
	return change.after, change.run(ctx)
}

// schemeChange is one run of SetLockScheme.
type schemeChange struct {
	*Datastore
	root          *os.File
	disk          *fsop.Disk
	before, after LockScheme
}

func (c *schemeChange) plan(ctx context.Context, mode LockMode, opts SetLockSchemeOptions) (LockScheme, error) {
	scheme := LockScheme{Mode: mode}
	switch mode {
	case LockLocal:
		scheme.OnlyHost = opts.OnlyHost || c.opts.OnlyHost
		reach, err := flock.Reach(c.root)
		if err == nil && !reach.Local && !scheme.OnlyHost {
			err = errReach(c.path, reach.Name)
		}
		return scheme, err
	case LockShared:
		report, err := c.test(ctx, opts.Test)
		scheme.Stale, scheme.RecheckDelay = opts.Stale, report.RecheckDelay
		return scheme, errors.Join(err, scheme.validate())
	case LockChanging:
	}
	return scheme, fmt.Errorf("locking %q: it has to be %q or %q", string(mode), LockLocal, LockShared)
}

// TestStoreLocks finds out whether the store is fit for store locks, and how fast
// they are. Other hosts may see less of it than this one.
func (d *Datastore) TestStoreLocks(ctx context.Context, opts storelock.SelfTestOptions) (storelock.Report, error) {
	root, err := d.openRoot()
	if err != nil {
		return storelock.Report{}, err
	}
	defer root.Close()
	disk, err := d.disk(root)
	if err != nil {
		return storelock.Report{}, err
	}
	c := schemeChange{Datastore: d, root: root, disk: disk}
	return c.test(ctx, opts)
}

func (c *schemeChange) test(ctx context.Context, opts storelock.SelfTestOptions) (storelock.Report, error) {
	if err := c.disk.Mkdir(c.root, storeLockDir, storeLockMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return storelock.Report{}, err
	}
	dir, err := beneath.OpenDir(c.root, storeLockDir)
	if err != nil {
		return storelock.Report{}, err
	}
	defer dir.Close()
	return storelock.SelfTest(ctx, dirstore.New(dir, dirstore.Options{Disk: c.opts.Disk}).Resource("test"), opts)
}

// run takes the datastore's lock, of both kinds, so that one at a time changes the
// scheme and nobody writes or collects. Then it says that the scheme is changing,
// and looks whether anybody holds a lock of the old one.
func (c *schemeChange) run(ctx context.Context) (err error) {
	chunks, err := chunkstore.Open(c.root, chunkstore.Options{Disk: c.disk})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chunks.Close()) }()
	set := c.newSet(ctx)
	wait := flock.Wait{Timeout: c.opts.LockWait, Busy: c.opts.Events.waiting}
	err = wait.Do(ctx, func() error {
		set = c.newSet(ctx)
		_, err := lockStoreExclusive(ctx, set, chunks)
		if err != nil {
			err = errors.Join(err, set.Close())
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	return c.change(ctx)
}

// newSet is a set with the locks of the old scheme, and with store locks wherever
// they may be in use: somebody may have died in the middle of a change.
func (c *schemeChange) newSet(ctx context.Context) *guards {
	scheme := c.before
	if there, err := exists(c.root, storeLockDir); there || err != nil {
		scheme.Mode = LockShared
	}
	return &guards{
		server:  server{notices: c.opts.Events},
		sharing: &sharing{ctx: ctx, store: c.Datastore, root: c.root, scheme: scheme, forced: true, held: map[string]*heldLease{}},
	}
}

func (c *schemeChange) change(ctx context.Context) error {
	now, err := readScheme(c.root)
	if err != nil {
		return err
	}
	if now != c.before {
		return fmt.Errorf("%q: %w", c.path, errSchemeChanged)
	}
	changing := c.before
	changing.Mode = LockChanging
	if err := writeScheme(c.disk, c.root, changing); err != nil {
		return err
	}
	if err := c.nobodyWorks(ctx); err != nil {
		return errors.Join(err, c.unfinished(writeScheme(c.disk, c.root, c.before)))
	}
	return c.unfinished(writeScheme(c.disk, c.root, c.after))
}

func (c *schemeChange) unfinished(err error) error {
	if err != nil {
		err = fmt.Errorf("%q can't be changed by anybody until its locking is set again: %w", c.path, err)
	}
	return err
}

// nobodyWorks takes every lock of the store once, one after the other.
func (c *schemeChange) nobodyWorks(ctx context.Context) error {
	busy := c.free(ctx, func(set *guards) error {
		_, err := lockTree(set, c.root)
		return err
	})
	walk := groupVisitor{
		group: func(group backupinfo.Group) error {
			busy = errors.Join(busy, c.free(ctx, func(set *guards) error { return c.lockAll(set, group) }))
			return nil
		},
		broken: func(err error) error { return err },
	}
	return errors.Join(c.eachGroup(ctx, c.root, walk), busy)
}

// free takes locks and lets them go. Those who hold one for an instant only are waited for.
func (c *schemeChange) free(ctx context.Context, take func(set *guards) error) error {
	return flock.Wait{Timeout: briefWait}.Do(ctx, func() error {
		set := c.newSet(ctx)
		return errors.Join(take(set), set.Close())
	})
}

func (c *schemeChange) lockAll(set *guards, group backupinfo.Group) error {
	if _, err := lockGroup(set, c.root, group); err != nil {
		return ignoreNotFound(err)
	}
	dir, err := beneath.OpenDir(c.root, group.Dir())
	if err != nil {
		return err
	}
	defer dir.Close()
	times, _, err := snapshotTimes(dir, group)
	if err != nil {
		return err
	}
	if err := enoughDescriptors(len(times) * set.perSnapshot()); err != nil {
		return err
	}
	for _, at := range times {
		_, err := lockSnapshot(set, c.root, backupinfo.Snapshot{Group: group, Time: at})
		if err := ignoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}
