package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// CreateOptions are how a datastore is made.
type CreateOptions struct {
	// Owner owns the store; nil is the owner of the directory, or this process where it has to be made.
	Owner *fsop.Owner
	// OnlyHost says that no other host will use the store, see [Options].
	OnlyHost bool
	// Events tell what goes on.
	Events Events
	// Disk performs every change; nil is the operating system.
	Disk *fsop.Disk
}

// Create makes an empty datastore in a directory that is empty or does not exist
// yet; its parent has to. The path has to be absolute. It refuses to put one
// store into another, over any path: a collection of the outer one would see the
// indexes of the inner one, but not its chunks.
//
// The chunk directory gets its name last. What an interrupted Create leaves is
// no datastore, and does not stop the next one.
func Create(ctx context.Context, path string, opts CreateOptions) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("datastore %q: the path has to be absolute", path)
	}
	path = filepath.Clean(path)
	root, made, err := createRoot(path, opts)
	if err != nil {
		return err
	}
	defer root.Close()
	store := &Datastore{path: path, opts: Options{OnlyHost: opts.OnlyHost, Events: opts.Events, Disk: opts.Disk}}
	if err = store.create(ctx, root, opts); err != nil && made {
		// Whatever is in it by now keeps it: Rmdir takes empty directories only.
		_ = os.Remove(path) //nolint:forbidigo // above the store's root
	}
	return err
}

// create makes the store in its open root, under a lock on that: of two at once,
// one is refused, and what it finds half made was left by a crash.
func (d *Datastore) create(ctx context.Context, root *os.File, opts CreateOptions) error {
	if err := d.checkReach(root); err != nil {
		return err
	}
	set := &guards{}
	if err := lockNewStore(set, root); err != nil {
		return err
	}
	err := checkVacant(root)
	if err == nil {
		err = checkNotNested(root)
	}
	if err == nil {
		err = d.fill(ctx, root, opts)
	}
	return errors.Join(err, set.Close())
}

// createRoot opens the root of the new store, and makes it if need be.
func createRoot(path string, opts CreateOptions) (root *os.File, made bool, err error) {
	parent, err := os.OpenFile(filepath.Dir(path), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, false, err
	}
	defer parent.Close()
	if name := filepath.Base(path); name != "/" {
		err = withOptionalOwner(opts.Disk, opts.Owner).Mkdir(parent, name, directoryMode)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, false, err
		}
		made = err == nil
	}
	root, err = openDirectory(path)
	return root, made, err
}

func withOptionalOwner(disk *fsop.Disk, owner *fsop.Owner) *fsop.Disk {
	if owner == nil {
		return disk
	}
	return withOwner(disk, *owner)
}

// isForeign tells the names that file systems and appliances put into the root of
// a disk. They are no content.
func isForeign(name string) bool {
	switch name {
	case "lost+found", ".snapshot", ".zfs", "@eaDir", "#recycle", "System Volume Information", ".Trash-1000", "$RECYCLE.BIN":
		return true
	}
	return false
}

// checkVacant refuses a directory in which there is something already.
func checkVacant(root *os.File) error {
	dir, err := beneath.OpenDir(root, ".")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch {
		case name == chunkDirName:
			return fmt.Errorf("%q is a datastore: it %w", root.Name(), ErrExists)
		case !isForeign(name) && !isLeftover(name):
			return fmt.Errorf("%q is not empty: it holds %q", root.Name(), name)
		}
	}
	return nil
}

// fill makes what a store consists of.
func (d *Datastore) fill(ctx context.Context, root *os.File, opts CreateOptions) error {
	disk, err := d.disk(root)
	if err != nil {
		return err
	}
	if opts.Owner != nil {
		disk = withOwner(opts.Disk, *opts.Owner)
	}
	if err := d.sweepDirectory(ctx, disk, root, "."); err != nil {
		return err
	}
	err = chunkstore.Create(ctx, root, chunkstore.CreateOptions{Disk: disk, Progress: func(done, total int) {
		opts.Events.progress(Progress{Operation: "create", Object: root.Name(), Done: uint64(done), Total: uint64(total), Items: true})
	}})
	if err != nil {
		return err
	}
	return makeLockFile(ctx, root, disk)
}
