package datastore

import (
	"context"
	"os"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// groupVisitor goes over all groups of a store.
type groupVisitor struct {
	namespace func()                       // may be nil
	group     func(backupinfo.Group) error // an error ends the walk
	broken    func(error) error            // about one entry; nil goes on
}

// eachGroup visits the groups of all namespaces, those of one namespace after the other.
func (d *Datastore) eachGroup(ctx context.Context, root *os.File, v groupVisitor) error {
	for ns, err := range d.Namespaces(ctx, backupinfo.Namespace{}, -1) {
		if err != nil {
			err = v.broken(err)
		} else {
			err = v.visit(ctx, root, ns)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v groupVisitor) visit(ctx context.Context, root *os.File, ns backupinfo.Namespace) error {
	if v.namespace != nil {
		v.namespace()
	}
	for _, kind := range backupinfo.Types() {
		groups, broken := groupsOfType(root, ns, kind)
		for _, err := range broken {
			if err := v.broken(err); err != nil {
				return err
			}
		}
		for _, group := range groups {
			err := ctx.Err()
			if err == nil {
				err = v.group(group)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
