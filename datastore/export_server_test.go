package datastore

import (
	"context"
	"errors"
)

// JournalMoves is what a move does before each rename.
func (d *Datastore) JournalMoves(ctx context.Context, indexes []string) error {
	set, err := d.acquire(ctx, func(*guards) error { return nil })
	if err != nil {
		return err
	}
	return errors.Join(set.journalMoves(ctx, indexes), set.Close())
}
