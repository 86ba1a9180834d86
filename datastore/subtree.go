package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// subtree is a namespace with all that is in and below it, as it was found under
// L6 of the tree: no group of ours appears while it is looked at.
type subtree struct {
	namespaces []backupinfo.Namespace // parents first
	groups     []groupInTree
	// unknown are paths of what is neither a namespace nor a group, nor in one.
	unknown []string

	look subtreeLook
	dev  uint64
	busy []error
}

type groupInTree struct {
	backupinfo.Group
	content groupContent // empty where no group was locked
}

// subtreeLook says how a subtree is looked at.
type subtreeLook int

const (
	lockAll   subtreeLook = iota // every namespace, group and snapshot
	lockForce                    // namespaces only; the caller answers for the rest
	listOnly                     // namespaces only, and no group is opened
)

// lockSubtree takes the locks of everything in a namespace. Where some are
// refused, all who hold them are named. The caller holds L6 of the tree.
func lockSubtree(ctx context.Context, set *guards, root *os.File, ns backupinfo.Namespace, look subtreeLook) (*subtree, error) {
	t := &subtree{look: look}
	above, err := beneath.Stat(root, path.Dir(ns.Dir()))
	if err != nil {
		return nil, notFound(err, "namespace", ns.String())
	}
	t.dev = above.Dev
	if err := t.sameDisk(root, ns.Dir()); err != nil {
		return nil, notFound(err, "namespace", ns.String())
	}
	if err := t.addNamespace(ctx, set, root, ns); err != nil {
		return nil, err
	}
	if len(t.busy) == 0 && len(t.namespaces) == 0 {
		return nil, &NotFoundError{Kind: "namespace", Name: ns.String()} // gone since it was looked at
	}
	return t, errors.Join(t.busy...)
}

// sameDisk refuses mount points: a rename would fail at one, or carry it along.
func (t *subtree) sameDisk(root *os.File, name string) error {
	stat, err := beneath.Stat(root, name)
	if err == nil && stat.Dev != t.dev {
		err = errOtherDisk(name)
	}
	return err
}

func errOtherDisk(name string) error {
	return fmt.Errorf("%q is on a file system of its own: unmount it first", name)
}

func (t *subtree) addNamespace(ctx context.Context, set *guards, root *os.File, ns backupinfo.Namespace) error {
	if err := lockNamespace(set, root, ns); err != nil {
		return t.refusal(err)
	}
	t.namespaces = append(t.namespaces, ns)
	return t.each(ctx, root, ns.Dir(), func(name string) error {
		dir := path.Join(ns.Dir(), name)
		switch {
		case name == "ns":
			return t.each(ctx, root, dir, func(name string) error { return t.addChild(ctx, set, root, ns, name) })
		case backupinfo.Type(name).Validate() == nil:
			return t.each(ctx, root, dir, func(id string) error { return t.addGroup(ctx, set, root, ns, path.Join(name, id)) })
		}
		t.unknown = append(t.unknown, dir)
		return nil
	})
}

func (t *subtree) addChild(ctx context.Context, set *guards, root *os.File, ns backupinfo.Namespace, name string) error {
	child, err := ns.Child(name)
	if err != nil {
		t.unknown = append(t.unknown, path.Join(ns.Dir(), "ns", name))
		return nil //nolint:nilerr // it is no namespace, and counts as that
	}
	return t.addNamespace(ctx, set, root, child)
}

func (t *subtree) addGroup(ctx context.Context, set *guards, root *os.File, ns backupinfo.Namespace, name string) error {
	group, err := backupinfo.ParseGroup(ns, name)
	if err != nil {
		t.unknown = append(t.unknown, path.Join(ns.Dir(), name))
		return nil //nolint:nilerr // it is no group, and counts as that
	}
	var content groupContent
	if t.look != listOnly {
		// Protected snapshots are looked at when all are known, so that one refusal names them all.
		content, err = lockWholeGroup(ctx, set, root, group, RemoveGroupOptions{Force: t.look == lockForce, KeepProtected: true})
	}
	if err == nil {
		t.groups = append(t.groups, groupInTree{group, content})
	}
	return t.refusal(err)
}

// refusal collects the locks that are refused, and passes over what is gone by now.
func (t *subtree) refusal(err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case errors.Is(err, flock.ErrLocked), errors.Is(err, ErrUnfinished):
		t.busy = append(t.busy, err)
		return nil
	}
	return err
}

// each visits the directories in a directory. What else is there is unknown, but for leftovers of ours.
func (t *subtree) each(ctx context.Context, root *os.File, name string, visit func(entry string) error) error {
	entries, err := entriesOf(root, name)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		below := path.Join(name, entry)
		stat, err := beneath.Stat(root, below)
		switch {
		case errors.Is(err, fs.ErrNotExist) || isLeftover(entry):
			continue
		case err == nil && stat.Mode&unix.S_IFMT != unix.S_IFDIR:
			t.unknown = append(t.unknown, below)
			continue
		case err == nil && stat.Dev != t.dev:
			err = errOtherDisk(below)
		case err == nil:
			err = visit(entry)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// entriesOf lists a directory in order. One that is gone by now has none.
func entriesOf(root *os.File, name string) ([]string, error) {
	dir, err := beneath.OpenDir(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}
