package datastore

import (
	"os"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// openForChange opens the root for an operation that changes the store, and
// makes sure that it may. The caller closes the root.
func (d *Datastore) openForChange() (root *os.File, disk *fsop.Disk, err error) {
	root, err = d.openRoot()
	if err != nil {
		return nil, nil, err
	}
	if err = d.changeable(root); err == nil {
		disk, err = d.disk(root)
	}
	if err != nil {
		_ = root.Close() // nothing was done with it
		return nil, nil, err
	}
	return root, disk, nil
}

// findGroup makes sure that a group exists, so that what is missing is named and never called locked.
func findGroup(root *os.File, group backupinfo.Group) error {
	dir, err := openGroup(root, group)
	if err != nil {
		return err
	}
	return dir.Close()
}
