package datastore

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// relocation is a snapshot under its old and its new name.
type relocation struct{ from, to backupinfo.Snapshot }

// announceMove tells, under all locks of the move and right before the rename,
// where the index files of these snapshots will be: the absolute paths. A
// collection of a server that runs at the same time has perhaps listed the new
// place already and not yet the old one, and reads such a journal before it
// deletes anything. Where the journal can't be written, nothing may be renamed.
func (d *Datastore) announceMove(ctx context.Context, root *os.File, moves ...relocation) error {
	if d.moveJournal == nil {
		return nil
	}
	var indexes []string
	for _, move := range moves {
		names, err := entriesOf(root, move.from.Dir())
		if err != nil {
			return err
		}
		for _, name := range names {
			if isIndex(name) {
				indexes = append(indexes, filepath.Join(d.path, move.to.Dir(), name))
			}
		}
	}
	if len(indexes) == 0 {
		return nil
	}
	return d.moveJournal(ctx, indexes)
}
