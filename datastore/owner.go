package datastore

import (
	"context"
	"fmt"
	"os"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// ChangeOwnerOptions are how the owner of a group is changed.
type ChangeOwnerOptions struct {
	// Expected is whom the group has to belong to now. Empty asks for nobody in
	// particular, and mends a group whose owner file is missing or damaged.
	Expected backupinfo.AuthID
}

// ChangeOwner gives a group to somebody else. Of several changes at once that all
// expect the present owner, one succeeds and the others are [ErrNotOwner]. It is
// refused while the group is locked (flock.ErrLocked).
//
// After nil the change is durable. After an error the owner is the old or the new
// one; the file is never empty or missing.
func (d *Datastore) ChangeOwner(ctx context.Context, group backupinfo.Group, owner backupinfo.AuthID, opts ChangeOwnerOptions) error {
	if _, err := backupinfo.ParseAuthID(owner.String()); err != nil {
		return err
	}
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return err
	}
	defer root.Close()
	return d.changeGroup(ctx, root, group, func(dir *os.File) error {
		have, err := readOwner(dir)
		if err != nil && opts.Expected != "" {
			return fmt.Errorf("group %q: %w", group.Dir(), err)
		}
		if opts.Expected != "" && have != opts.Expected {
			return fmt.Errorf("owner of group %q has changed: it is %w: %q, expected %q", group.Dir(), ErrNotOwner, have, opts.Expected)
		}
		if err == nil && have == owner {
			return nil
		}
		return disk.WriteFile(dir, backupinfo.OwnerName, owner.OwnerFile(), fileMode)
	})
}
