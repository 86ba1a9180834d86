package datastore

import (
	"errors"
	"os"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// openToChange opens the root for an operation that changes the store, and
// refuses where it may not be changed. The caller closes it.
func (d *Datastore) openToChange() (*os.File, *fsop.Disk, error) {
	root, err := d.openRoot()
	if err != nil {
		return nil, nil, err
	}
	err = d.changeable(root)
	if err == nil {
		var disk *fsop.Disk
		if disk, err = d.disk(root); err == nil {
			return root, disk, nil
		}
	}
	return nil, nil, errors.Join(err, root.Close())
}

// findGroup makes sure that a group exists, so that what is missing is named and never called locked.
func findGroup(root *os.File, group backupinfo.Group) error {
	dir, err := openGroup(root, group)
	if err != nil {
		return err
	}
	return dir.Close()
}
