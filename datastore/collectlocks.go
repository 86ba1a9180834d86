package datastore

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

// retireLocks removes the directories of the store locks of groups that are gone, of which each has three. Under the
// store's own lock nobody makes a group. One whose removal has not ended yet still
// has its locks, and those stay; of the dead they are removed first. What is not removed does no harm.
func (c *collection) retireLocks(ctx context.Context) error {
	scheme, err := readScheme(c.root)
	if err != nil || scheme.Mode != LockShared {
		return err
	}
	dir, err := beneath.OpenDir(c.root, storeLockDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	all := dirstore.New(dir, dirstore.Options{Disk: c.disk})
	return c.eachStoreLock(ctx, func(name string, place *dirstore.Store) error {
		if gone, err := c.isOfGoneGroup(name); err != nil || !gone {
			return err
		}
		_, err := storelock.Break(ctx, place, c.storeLockOptions(scheme), storelock.BreakOptions{})
		if err == nil {
			_, err = all.Retire(ctx, name)
		}
		if err != nil && ctx.Err() == nil {
			c.Datastore.opts.Events.notice(path.Join(storeLockDir, name), "the locks of a group that is gone could not be removed", err)
			return nil
		}
		return err
	})
}

// isOfGoneGroup tells whether a lock directory is that of a group that is not there. Of a
// name that is a hash nobody knows.
func (c *collection) isOfGoneGroup(name string) (bool, error) {
	resource, ok := storelock.Resource(name)
	kind, dir, found := strings.Cut(resource, "/")
	if !ok || !found || kind != groupKind && kind != snapshotsKind && kind != manifestsKind {
		return false, nil
	}
	if _, err := parseGroupDir(dir); err != nil {
		return false, nil //nolint:nilerr // it is no name of ours
	}
	_, err := beneath.Stat(c.root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}
