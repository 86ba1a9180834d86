package datastore

import (
	"context"
	"path"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// relocation is a snapshot under its old and its new name.
type relocation struct{ from, to backupinfo.Snapshot }

// announce tells, under all locks of the move and right before the rename,
// where the index files of these snapshots will be, relative to the store. A
// collection of a server that runs at the same time has perhaps listed the new
// place already and not yet the old one, and reads such a journal before it
// deletes anything. Where the journal can't be written, nothing may be renamed.
func (m *move) announce(ctx context.Context, moves ...relocation) error {
	journal := m.store.moveJournal
	if journal == nil {
		journal = m.locks.journalMoves
	}
	var indexes []string
	for _, move := range moves {
		names, err := entriesOf(m.root, move.from.Dir())
		if err != nil {
			return err
		}
		for _, name := range names {
			if isIndex(name) {
				indexes = append(indexes, path.Join(move.to.Dir(), name))
			}
		}
	}
	if len(indexes) == 0 {
		return nil
	}
	return journal(ctx, indexes)
}
