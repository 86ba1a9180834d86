package datastore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// What is removed is first renamed out of the tree, and what is made is first
// made outside of it, so that neither is ever seen half done. The place for both
// is a hidden directory in the store's root: the original's collection skips
// hidden names, and a group stays removable for it. Where the root is no place
// for it (the group is on a disk of its own, or there is no room for one more
// directory), a hidden name beside the thing itself serves.
//
// Who works on such an entry holds its lock, which follows the directory through
// renames. An entry whose lock is free has no living owner and is swept.
const (
	leftoverDir    = ".pbs-like-leftover"
	leftoverPrefix = ".pbs-like-leftover-"
)

// place is where an entry may lie while it is not (or no longer) part of the tree.
type place struct {
	dir  *os.File
	name string
}

// isLeftover tells the names under which things are made and dismantled, among
// them that of a chunk directory whose making was interrupted.
func isLeftover(name string) bool {
	return strings.HasPrefix(name, leftoverPrefix) || strings.HasPrefix(name, chunkDirName+".tmp_")
}

// leftoverName gives a name that nobody else uses; the hint is for a person who looks at it.
func leftoverName(hint string) string {
	const longest = 100
	hint = strings.ReplaceAll(hint, "/", "-")
	return leftoverPrefix + rand.Text()[:16] + "-" + hint[:min(len(hint), longest)]
}

// area gives the directory in which things that belong below parent are staged
// or dismantled. The caller closes it.
func area(disk *fsop.Disk, root, parent *os.File) (*os.File, error) {
	dir, err := openArea(disk, root)
	if err == nil {
		var same bool
		if same, err = sameFileSystem(dir, parent); same {
			return dir, nil
		}
		err = errors.Join(err, dir.Close())
	}
	if err != nil && !noRoom(err) && !isStray(err) {
		return nil, err
	}
	return beneath.OpenDir(parent, ".")
}

func openArea(disk *fsop.Disk, root *os.File) (*os.File, error) {
	dir, err := beneath.OpenDir(root, leftoverDir)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := disk.Mkdir(root, leftoverDir, directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return beneath.OpenDir(root, leftoverDir)
}

func sameFileSystem(a, b *os.File) (bool, error) {
	first, err := identityOf(a)
	if err != nil {
		return false, err
	}
	second, err := identityOf(b)
	return err == nil && first.dev == second.dev, err
}

// isStray tells that something else has the name of a directory. The next sweep names it.
func isStray(err error) bool {
	return errors.Is(err, unix.ENOTDIR) || errors.Is(err, beneath.ErrSymlink)
}

// noRoom tells a full disk or quota, on which removing has to work all the same.
func noRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EMLINK)
}

// retire renames an entry of parent out of the tree and makes that durable. From
// then on it is gone for every reader; its files are unlinked later. Nothing has
// changed where it gives an error, but for a failed sync: then the place has a
// name, and the entry is gone or will be back after a power cut, whole in both cases.
func retire(disk *fsop.Disk, root, parent *os.File, name string) (place, error) {
	gone, err := moveOut(disk, root, parent, name)
	if err != nil {
		return place{}, err
	}
	return gone.sync(disk, parent, name)
}

// sync makes the rename out of the tree durable.
func (p place) sync(disk *fsop.Disk, parent *os.File, name string) (place, error) {
	if err := errors.Join(disk.SyncDir(parent), disk.SyncDir(p.dir)); err != nil {
		err = errors.Join(fmt.Errorf("%q is out of the tree, which may not be on disk yet: %w", name, err), p.dir.Close())
		return place{name: p.name}, err
	}
	return p, nil
}

// moveOut is retire without the sync: before the two directories were synced, nothing of it may be unlinked.
func moveOut(disk *fsop.Disk, root, parent *os.File, name string) (place, error) {
	dir, err := area(disk, root, parent)
	if err != nil {
		return place{}, err
	}
	gone := place{dir: dir, name: leftoverName(name)}
	err = disk.Rename(parent, name, dir, gone.name)
	if errors.Is(err, unix.EXDEV) || noRoom(err) {
		gone, err = retireBeside(disk, gone, parent, name, err)
	}
	if err != nil {
		return place{}, errors.Join(err, gone.dir.Close())
	}
	return gone, nil
}

// retireBeside is the second try, in the same directory, which needs no room. If
// the entry is gone by then, the first error is what happened.
func retireBeside(disk *fsop.Disk, gone place, parent *os.File, name string, first error) (place, error) {
	beside, err := beneath.OpenDir(parent, ".")
	if err != nil {
		return gone, err
	}
	err = disk.Rename(parent, name, beside, gone.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = first
	}
	return place{dir: beside, name: gone.name}, errors.Join(err, gone.dir.Close())
}

// taken tells whether the entry is out of the tree.
func (p place) taken() bool { return p.name != "" }

// dismantle unlinks what was retired.
func (p place) dismantle(ctx context.Context, disk *fsop.Disk) error {
	if p.dir == nil {
		return nil
	}
	err := disk.RemoveTree(ctx, p.dir, p.name)
	return errors.Join(err, p.dir.Close())
}

// sweep removes the leftovers in the store's root and beside the given
// directories that nobody works on. A leftover that resists is no failure of
// the operation that came across it: it is a notice, and stays for the next one.
func (d *Datastore) sweep(ctx context.Context, disk *fsop.Disk, root *os.File, beside ...string) {
	for _, name := range append([]string{leftoverDir}, beside...) {
		if err := d.sweepDirectory(ctx, disk, root, name); isStray(err) && name == leftoverDir {
			d.opts.Events.notice(name, "is no directory, and in the way of what is being made and removed, for which a hidden name beside it serves meanwhile; move it away", err)
		} else if err != nil {
			d.opts.Events.notice(name, "leftovers of an earlier operation could not be removed", err)
		}
	}
}

func (d *Datastore) sweepDirectory(ctx context.Context, disk *fsop.Disk, root *os.File, name string) error {
	dir, err := beneath.OpenDir(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isLeftover(name) && !temporary.MatchString(name) })
	if len(names) == 0 {
		return nil
	}
	// The rename that brought an entry here may not be on disk yet. Its files must not be gone before it is.
	failed := disk.SyncDir(dir)
	if failed != nil {
		return failed
	}
	for _, entry := range names {
		if ctx.Err() == nil {
			failed = errors.Join(failed, d.sweepEntry(ctx, disk, dir, entry))
		}
	}
	return failed
}

// mayBeElsewhere tells, where several hosts share the store, whether one of them may
// be at work on a leftover: its lock is none that reaches us, so that only its age counts.
func (d *Datastore) mayBeElsewhere(dir *os.File, name string) (bool, error) {
	root, err := openDirectory(d.path)
	if err != nil {
		return false, err
	}
	defer root.Close()
	scheme, err := readScheme(root)
	if err != nil || scheme.Mode == LockLocal {
		return false, err
	}
	changed, err := lastChange(dir, name)
	return err == nil && time.Since(changed) < abandonedAfter, ignoreNotFound(err)
}

func (d *Datastore) sweepEntry(ctx context.Context, disk *fsop.Disk, dir *os.File, name string) (err error) {
	if temporary.MatchString(name) {
		return removeAbandoned(disk, dir, name)
	}
	if stray, old, err := strayLeftover(dir, name, time.Now()); stray || err != nil {
		if old && err == nil {
			err = ignoreVanished(disk.Remove(dir, name))
		}
		return err
	}
	guard, err := lockLeftover(dir, name)
	if err != nil || guard == nil {
		return err
	}
	if young, err := d.mayBeElsewhere(dir, name); err != nil || young {
		return errors.Join(err, guard.Close())
	}
	defer func() { err = errors.Join(err, guard.Close()) }()
	if err := disk.RemoveTree(ctx, dir, name); err != nil {
		return err
	}
	d.opts.Events.notice(fmt.Sprintf("%s/%s", leftoverDir, name), "leftover of an earlier operation removed", nil)
	return nil
}

// strayLeftover tells that something under a leftover's name is no directory, as all are
// that we make: nobody works on it, and no lock says so. It is old when it has been left
// alone for so long that whoever put it there has had the time to look at it.
func strayLeftover(dir *os.File, name string, now time.Time) (stray, old bool, err error) {
	stat, err := beneath.Stat(dir, name)
	if err != nil {
		return false, false, ignoreVanished(err)
	}
	return stat.Mode&unix.S_IFMT != unix.S_IFDIR, now.Sub(time.Unix(stat.Mtim.Unix())) > rewritingTime, nil
}
