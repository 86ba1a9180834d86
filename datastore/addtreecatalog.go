package datastore

import (
	"context"
	"fmt"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/catalog"
)

const (
	catalogName = "catalog.pcat1.didx"
	// catalogChunkSize is the average chunk size of a catalog, the one that the original's client uses.
	catalogChunkSize = 512 << 10
)

// catalogStream is the catalog of the snapshot's legacy trees. It ends with the snapshot.
type catalogStream struct {
	*catalog.Writer

	stream *stream
}

// openCatalog begins the catalog, or goes on with it.
func (w *SnapshotWriter) openCatalog(ctx context.Context) error {
	if w.catalog != nil {
		w.catalog.stream.bind(ctx)
		return nil
	}
	name, err := backupinfo.ParseFileName(catalogName)
	if err != nil {
		return err
	}
	if _, there := w.manifest.File(catalogName); there {
		return fmt.Errorf("archive %q %w in this snapshot, which needs one for its directory trees", name.Display(), ErrExists)
	}
	s, err := w.openStream(ctx, name, 0)
	if err != nil {
		return err
	}
	s.entry.tally.events = Events{} // the progress is that of the trees
	if err := s.startInPlace(ctx, catalogChunkSize); err != nil {
		return err
	}
	out, err := catalog.NewWriter(s)
	if err != nil {
		return s.giveUp(err)
	}
	w.catalog = &catalogStream{out, s}
	return nil
}

// finishCatalog ends the catalog, if there is one.
func (w *SnapshotWriter) finishCatalog(ctx context.Context) error {
	if w.catalog == nil {
		return nil
	}
	w.catalog.stream.bind(ctx)
	if err := w.catalog.Close(); err != nil {
		return fmt.Errorf("catalog: %w", w.catalog.stream.giveUp(err))
	}
	if _, err := w.catalog.stream.finish(); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	return nil
}

// bind makes ctx the one of what is written from now on, to a stream whose chunks are stored in place.
func (s *stream) bind(ctx context.Context) {
	s.ctx = ctx
	if here, ok := s.sink.(*inPlace); ok {
		here.ctx = ctx
	}
}
