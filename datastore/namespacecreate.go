package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// CreateNamespaceOptions are how a namespace is made.
type CreateNamespaceOptions struct {
	// Parents makes the namespaces above it too, as far as they are missing.
	Parents bool
}

// CreateNamespace makes an empty namespace, with the owner of the store. It is
// [ErrExists] where it is there already, and [ErrNotFound] where the namespace
// above it is not. No namespace above it is removed or moved meanwhile.
//
// After nil it is durable. After an error some of the missing parents may be
// there, each an empty namespace.
func (d *Datastore) CreateNamespace(ctx context.Context, ns backupinfo.Namespace, opts CreateNamespaceOptions) (err error) {
	if ns.IsRoot() {
		return fmt.Errorf("the root namespace %w", ErrExists)
	}
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return err
	}
	defer root.Close()
	set, err := d.acquire(ctx, func(set *guards) error { return lockTreeShared(set, root) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	if opts.Parents {
		if err := makeParents(disk, root, ns.Parent()); err != nil {
			return err
		}
	}
	return makeNamespace(disk, root, ns)
}

// makeParents makes a namespace and those above it, the outermost first.
func makeParents(disk *fsop.Disk, root *os.File, ns backupinfo.Namespace) error {
	if ns.IsRoot() {
		return nil
	}
	if err := makeParents(disk, root, ns.Parent()); err != nil {
		return err
	}
	err := makeNamespace(disk, root, ns)
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// makeNamespace makes one namespace. The caller holds L6.
func makeNamespace(disk *fsop.Disk, root *os.File, ns backupinfo.Namespace) error {
	parent, err := makeNamespaceDir(disk, root, ns.Parent())
	if err != nil {
		return err
	}
	defer parent.Close()
	err = disk.Mkdir(parent, ns.Name(), directoryMode)
	if errors.Is(err, fs.ErrExist) {
		return inTheWay(root, ns)
	}
	if err != nil {
		return err
	}
	return disk.SyncDir(parent)
}

// inTheWay tells a namespace that exists from something else with its name.
func inTheWay(root *os.File, ns backupinfo.Namespace) error {
	stat, err := beneath.Stat(root, ns.Dir())
	if err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("%q is no directory, and in the way of the namespace: move it away first", ns.Dir())
	}
	return fmt.Errorf("namespace %q %w", ns, ErrExists)
}

// makeNamespaceDir opens the directory in which the namespaces within ns lie, and
// makes it if it is not there. The caller holds L6, and closes the directory.
func makeNamespaceDir(disk *fsop.Disk, root *os.File, ns backupinfo.Namespace) (*os.File, error) {
	above, err := openNamespace(root, ns)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	err = disk.Mkdir(above, "ns", directoryMode)
	if err == nil {
		err = disk.SyncDir(above)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return beneath.OpenDir(above, "ns")
}
