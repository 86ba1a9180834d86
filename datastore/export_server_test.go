package datastore

import "context"

// JournalMoves is what a move does before each rename.
func (d *Datastore) JournalMoves(ctx context.Context, indexes []string) error {
	return d.journalMoves(ctx, indexes)
}
