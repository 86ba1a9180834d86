package datastore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// writerMark is a hidden file in a snapshot that is being written by this
// program. It is no lock. It says that the writer's locks are flocks on the
// directories, so that the snapshot is left behind as soon as they are free: of
// other writers that is not known. It goes when the manifest is there.
const writerMark = ".pbs-like-writer"

// attempts bounds how often a directory is made anew that somebody tidied away before it was locked.
const attempts = 10

// takeGroup locks the group, and makes it if it is not there. A new group
// appears under its name with its owner in it, and locked.
func (w *SnapshotWriter) takeGroup(ctx context.Context, set *guards, group backupinfo.Group, owner backupinfo.AuthID) error {
	err := w.lockOrMakeGroup(ctx, set, group, owner)
	if err != nil {
		return err
	}
	if w.groupDir, err = openLocked(set, w.root, group.Dir(), w.group); err != nil {
		return err
	}
	have, err := readOwner(w.groupDir)
	if err != nil {
		return fmt.Errorf("group %q: %w", group.Dir(), err)
	}
	if !owner.Matches(have) {
		return fmt.Errorf("group %q is %w: %q, not %q", group.Dir(), ErrNotOwner, have, owner)
	}
	return nil
}

func (w *SnapshotWriter) lockOrMakeGroup(ctx context.Context, set *guards, group backupinfo.Group, owner backupinfo.AuthID) (err error) {
	for range attempts {
		w.group, err = lockGroup(set, w.root, group)
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		w.group, err = w.makeGroup(ctx, set, group, owner)
		w.newGroup = err == nil
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("group %q comes and goes: %w", group.Dir(), err)
}

// makeGroup holds L6 for as long as it takes: a namespace that is renamed away in
// the middle would take the new group along, unseen by the locks of who renames it.
func (w *SnapshotWriter) makeGroup(ctx context.Context, set *guards, group backupinfo.Group, owner backupinfo.AuthID) (guard *flock.ExclusiveGuard, err error) {
	tree := set.within()
	defer func() { err = errors.Join(err, tree.Close()) }()
	if err := lockTreeShared(tree, w.root); err != nil {
		return nil, err
	}
	if err := checkNamespace(w.root, group.Namespace); err != nil {
		return nil, err
	}
	parent, err := makeTypeDir(w.disk, w.root, group)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	guard, err = w.stage(ctx, set, parent, group.ID, func(dir *os.File) error {
		if err := set.alsoGroup(w.root, group, flock.Exclusive); err != nil {
			return err
		}
		return w.disk.WriteFile(dir, backupinfo.OwnerName, []byte(owner.String()+"\n"), fileMode)
	})
	if err == nil {
		set.holdsGroup = true
	}
	return guard, err
}

// makeTypeDir opens the directory in which a group lies, and makes it if it is
// not there. The caller holds L6.
func makeTypeDir(disk *fsop.Disk, root *os.File, group backupinfo.Group) (*os.File, error) {
	above, err := openNamespace(root, group.Namespace)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := disk.Mkdir(above, string(group.Type), directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return beneath.OpenDir(root, typeDir(group.Namespace, group.Type))
}

// makeSnapshot makes the snapshot's directory, which appears under its name marked and locked.
func (w *SnapshotWriter) makeSnapshot(ctx context.Context, set *guards) error {
	var err error
	w.guard, err = w.stage(ctx, set, w.groupDir, w.snapshot.Time.String(), func(dir *os.File) error {
		if err := set.alsoSnapshot(w.root, w.snapshot, flock.Exclusive); err != nil {
			return err
		}
		return w.mark(dir, set.instance(groupResource(w.snapshot.Group)))
	})
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("snapshot %q %w", w.snapshot.Dir(), ErrExists)
	}
	if err != nil {
		return err
	}
	w.dir, err = openLocked(set, w.root, w.snapshot.Dir(), w.guard)
	return err
}

// openLocked opens a locked directory by the name that it has now: a guard that
// was taken under another one has that in all its messages.
func openLocked(set *guards, root *os.File, name string, guard *flock.ExclusiveGuard) (*os.File, error) {
	dir, err := beneath.OpenDir(root, name)
	if err != nil {
		return nil, err
	}
	set.add(dir)
	return dir, leadsTo(root, name, guard.File())
}

// mark leaves the mark of a living writer. Its content is for a person, and for us:
// a writer that comes late, after its store lock was lost, finds another one or none.
func (w *SnapshotWriter) mark(dir *os.File, instance string) error {
	host, _ := os.Hostname()
	facts := map[string]any{"host": host, "pid": os.Getpid(), "snapshot": w.snapshot.Dir()}
	if instance != "" {
		facts["lock"] = instance
	}
	text, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	w.ours = append(text, '\n')
	f, err := w.disk.Create(dir, writerMark, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(w.ours)
	if err == nil {
		err = f.Close()
	}
	return errors.Join(err, f.Discard()) // which does nothing after a Close that went well
}

// stage makes a directory aside, fills it, locks it, and renames it to its place
// below parent. So nobody ever sees it unlocked or without its content, and after
// a crash there is either all of it or a leftover. fs.ErrExist means that
// somebody else's is there.
func (w *SnapshotWriter) stage(ctx context.Context, set *guards, parent *os.File, name string, fill func(dir *os.File) error) (*flock.ExclusiveGuard, error) {
	dir, err := area(w.disk, w.root, parent)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	temporary, guard, err := w.makeStaged(set, dir, name)
	if err != nil {
		return nil, err
	}
	err = fill(guard.File())
	if err == nil {
		err = w.disk.Rename(dir, temporary, parent, name)
	}
	if err == nil {
		return guard, nil
	}
	err = errors.Join(err, w.disk.RemoveTree(context.WithoutCancel(ctx), dir, temporary))
	if leadsTo(parent, name, guard.File()) == nil {
		// The rename failed after it was done, as one over a network can.
		err = errors.Join(err, w.disk.RemoveTree(context.WithoutCancel(ctx), parent, name))
	}
	return nil, err
}

// makeStaged makes and locks a directory under a temporary name. Until it is
// locked it looks like a leftover, and a removal that comes by sweeps it: then it
// is made anew.
func (w *SnapshotWriter) makeStaged(set *guards, dir *os.File, name string) (temporary string, guard *flock.ExclusiveGuard, err error) {
	for range attempts {
		temporary = leftoverName(name)
		err = w.disk.Mkdir(dir, temporary, directoryMode)
		if err == nil {
			guard, err = lockStaged(set, dir, temporary)
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, flock.ErrLocked) {
			break
		}
	}
	return temporary, guard, err
}
