package datastore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// Locks keep those out who take them. A server locks groups and snapshots, and not
// the namespace in which it makes a group; one in a container may have locks that
// can't be seen. So what is removed as a whole is looked at once more after its
// rename, when nobody gets there by its name any more: what came in since the
// decision was made has not been decided upon, and everything is put back.

// decided are the groups and snapshots that a removal was decided for, by their
// paths below the store's root.
type decided map[string]bool

func (d decided) add(group backupinfo.Group, snapshots ...backupinfo.Snapshot) {
	d[group.Dir()] = true
	for _, snapshot := range snapshots {
		d[snapshot.Dir()] = true
	}
}

// retireDecided is retire for a namespace or a group. Where something is in it that
// was not decided upon it is put back, and the error is flock.ErrChanged.
func retireDecided(disk *fsop.Disk, root, parent *os.File, name, path string, known decided) (place, error) {
	gone, err := moveOut(disk, root, parent, name)
	if err != nil {
		return place{}, err
	}
	if err := gone.check(path, known); err != nil {
		return place{}, errors.Join(err, gone.putBack(disk, parent, name))
	}
	return gone.sync(disk, parent, name)
}

func (p place) check(path string, known decided) error {
	dir, err := beneath.OpenDir(p.dir, p.name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if known[path] {
		return known.checkGroup(dir, path)
	}
	return known.checkNamespace(dir, path)
}

func (d decided) checkNamespace(dir *os.File, name string) error {
	return eachDirectory(dir, func(entry string, below *os.File) error {
		switch {
		case entry == "ns":
			return eachDirectory(below, func(child string, dir *os.File) error {
				return d.checkNamespace(dir, path.Join(name, "ns", child))
			})
		case backupinfo.Type(entry).Validate() == nil:
			return eachDirectory(below, func(id string, dir *os.File) error {
				return d.checkGroup(dir, path.Join(name, entry, id))
			})
		}
		return newcomer(path.Join(name, entry))
	})
}

func (d decided) checkGroup(dir *os.File, name string) error {
	if !d[name] {
		return newcomer(name)
	}
	return eachDirectory(dir, func(entry string, _ *os.File) error {
		snapshot := path.Join(name, entry)
		if backupinfo.MatchTime(entry) && !d[snapshot] {
			return newcomer(snapshot)
		}
		return nil
	})
}

func newcomer(name string) error {
	return fmt.Errorf("%q has come to be there while what it is in was being removed, which is put back: %w", name, flock.ErrChanged)
}

// eachDirectory visits the directories in one, but for leftovers of ours.
func eachDirectory(dir *os.File, visit func(name string, dir *os.File) error) error {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if isLeftover(name) {
			continue
		}
		below, err := beneath.OpenDir(dir, name)
		switch {
		case errors.Is(err, fs.ErrNotExist), isStray(err):
			continue // no backup is in what is no directory
		case err != nil:
			return err
		}
		if err := errors.Join(visit(name, below), below.Close()); err != nil {
			return err
		}
	}
	return nil
}

// putBack gives what was retired its name again, or, where somebody has taken that
// since, another one that every program shows: a hidden one would be swept.
func (p place) putBack(disk *fsop.Disk, parent *os.File, name string) error {
	err := disk.Rename(p.dir, p.name, parent, name)
	if errors.Is(err, fs.ErrExist) {
		const longest = 200
		kept := name[:min(len(name), longest)] + "-kept-" + strings.ToLower(rand.Text()[:8])
		if err = disk.Rename(p.dir, p.name, parent, kept); err == nil {
			err = fmt.Errorf("%q is there again already, and what it was before is %q now", name, kept)
		}
	}
	return errors.Join(err, disk.SyncDir(parent), disk.SyncDir(p.dir), p.dir.Close())
}
