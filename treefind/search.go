package treefind

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/keys"
)

// Search is a search through the snapshots of a store.
type Search struct {
	Store   *datastore.Datastore
	Matcher *Matcher
	// Key gives the key with a fingerprint, for the snapshots that name one, or nil if it is not to be had: what is encrypted is then
	// skipped. Its error ends the search. A nil function has no keys.
	Key func(fingerprint string) (*keys.Key, error)
	// Cache is where names are kept for the next search; nil is nowhere.
	Cache *Cache
	// CacheEncrypted lets the names of encrypted trees be kept there too, in plain.
	CacheEncrypted bool
	// Newest searches only the newest finished snapshot of each group.
	Newest bool
	// Progress is called with each snapshot before it is read; it may be nil.
	Progress func(backupinfo.Snapshot)
}

// SkippedError is what was not, or not wholly, searched.
type SkippedError struct {
	Snapshot backupinfo.Snapshot
	// File is the archive or catalog that it is about, "" for all of the snapshot.
	File string
	Err  error
}

func (e *SkippedError) Error() string {
	switch text := e.Err.Error(); {
	case e.File != "":
		return fmt.Sprintf("%q: %s", e.Snapshot.Dir()+"/"+e.File, text)
	case strings.Contains(text, e.Snapshot.String()): // most name it
		return text
	default:
		return fmt.Sprintf("%q: %s", e.Snapshot.Dir(), text)
	}
}

func (e *SkippedError) Unwrap() error { return e.Err }

// Group searches all snapshots of a group, oldest first, and gives what was found, sorted, when it has seen them all. A
// [*SkippedError], and a *datastore.EntryError for an entry of the group that is no snapshot, comes as it is met, and the search goes on; any other error ends it.
// A group that does not exist is datastore.ErrNotFound.
func (s *Search) Group(ctx context.Context, group backupinfo.Group) iter.Seq2[Match, error] {
	return s.run(ctx, group, func() iter.Seq2[datastore.SnapshotInfo, error] { return s.snapshots(ctx, group) })
}

// Snapshot searches one snapshot.
func (s *Search) Snapshot(ctx context.Context, snapshot backupinfo.Snapshot) iter.Seq2[Match, error] {
	return s.run(ctx, snapshot.Group, func() iter.Seq2[datastore.SnapshotInfo, error] {
		return func(yield func(datastore.SnapshotInfo, error) bool) { yield(s.Store.Snapshot(ctx, snapshot)) }
	})
}

// snapshots are those of the group, or the newest that is finished.
func (s *Search) snapshots(ctx context.Context, group backupinfo.Group) iter.Seq2[datastore.SnapshotInfo, error] {
	if !s.Newest {
		return s.Store.Snapshots(ctx, group)
	}
	return func(yield func(datastore.SnapshotInfo, error) bool) {
		latest, err := s.Store.Latest(ctx, group)
		if err != nil {
			yield(datastore.SnapshotInfo{}, err)
			return
		}
		yield(s.Store.Snapshot(ctx, latest))
	}
}

func (s *Search) run(ctx context.Context, group backupinfo.Group, snapshots func() iter.Seq2[datastore.SnapshotInfo, error]) iter.Seq2[Match, error] {
	return func(yield func(Match, error) bool) {
		r := run{Search: s, timeline: newTimeline(group)}
		r.skip = func(err error) {
			r.stopped = r.stopped || !yield(Match{}, err)
		}
		err := r.all(ctx, snapshots())
		if r.stopped {
			return
		}
		if err != nil {
			yield(Match{}, err)
			return
		}
		r.timeline.each(func(m Match) bool { return yield(m, nil) })
	}
}

// run is the search through one group.
type run struct {
	*Search

	timeline *timeline
	skip     func(error)
	stopped  bool // by the caller
}

func (r *run) all(ctx context.Context, snapshots iter.Seq2[datastore.SnapshotInfo, error]) error {
	for info, err := range snapshots {
		if _, entry := errors.AsType[*datastore.EntryError](err); entry {
			r.skip(err)
		} else if err != nil {
			return err
		} else if err := r.snapshot(ctx, info); err != nil {
			return err
		}
		if r.stopped {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// snapshot searches one. What was removed meanwhile is passed over, for it is no longer there to be searched.
func (r *run) snapshot(ctx context.Context, info datastore.SnapshotInfo) error {
	isListedTree := func(f datastore.FileInfo) bool { return f.Crypt != nil && isTree(f.Name) }
	if info.Finished && info.Err == nil && !slices.ContainsFunc(info.Files, isListedTree) {
		r.absent(info.Snapshot, nil)
		return nil
	}
	if r.Progress != nil {
		r.Progress(info.Snapshot)
	}
	opts := datastore.ReadOptions{}
	if r.Key != nil && info.Fingerprint != "" {
		var err error
		if opts.Key, err = r.Key(info.Fingerprint); err != nil {
			return err
		}
	}
	reader, err := r.Store.OpenSnapshot(ctx, info.Snapshot, opts)
	if err != nil {
		return r.skipped(ctx, info.Snapshot, "", err)
	}
	look := snapshotLook{run: r, reader: reader, keyed: opts.Key != nil}
	return errors.Join(look.all(ctx), reader.Close())
}

// absent begins a step of the trees that the snapshot has not.
func (r *run) absent(snapshot backupinfo.Snapshot, there map[string]bool) {
	for name := range r.timeline.archives {
		if !there[name] {
			r.timeline.begin(name, snapshot.Time)
		}
	}
}

// skipped names what can't be searched. It gives the error back where that is not about this one.
func (r *run) skipped(ctx context.Context, snapshot backupinfo.Snapshot, file string, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrTooMany):
		return err
	case file == "" && errors.Is(err, datastore.ErrNotFound):
		return nil
	}
	r.skip(&SkippedError{Snapshot: snapshot, File: file, Err: err})
	return nil
}
