package datastore

import (
	"context"
	"time"
)

// SetMoveJournal makes the store tell of its moves.
func (d *Datastore) SetMoveJournal(journal func(ctx context.Context, indexes []string) error) {
	d.moveJournal = journal
}

// SetPatience bounds how long changes of one small file, or of the tree, are waited for.
func (d *Datastore) SetPatience(longest time.Duration) { d.patience = longest }
