package datastore

import "context"

// SetMoveJournal makes the store tell of its moves.
func (d *Datastore) SetMoveJournal(journal func(ctx context.Context, indexes []string) error) {
	d.moveJournal = journal
}
