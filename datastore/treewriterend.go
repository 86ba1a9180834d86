package datastore

import (
	"errors"
	"fmt"
)

// TreeStats is what storing a directory tree came to.
type TreeStats struct {
	// Archives are those that the tree is in: the entries before the contents, where these are two. The catalog of legacy trees, which is
	// finished with the snapshot, is not among them.
	Archives []ArchiveStats
	// Files is how many regular files there are, hard links not counted, and Bytes what is in them.
	Files int
	Bytes uint64
	// ReusedFiles are those of them that were not read, because they have not changed, and ReusedBytes what is in them.
	ReusedFiles int
	ReusedBytes uint64
	// ReadAgainFiles have not changed and were read nevertheless, because reusing their chunks would have kept too much that nobody needs, or
	// because a chunk was not there.
	ReadAgainFiles int
	// Padding is how many bytes of the chunks that were reused for them belong to no file.
	Padding uint64
	// Injected is how many chunks were reused so.
	Injected int
}

// Stats is what it has come to so far.
func (t *TreeWriter) Stats() TreeStats {
	t.writer.mu.Lock()
	defer t.writer.mu.Unlock()
	return t.stats
}

// Finish ends the root. With nil the archives are in the snapshot's list; with an error the tree is given up. A second call is an error.
func (t *TreeWriter) Finish() (TreeStats, error) {
	err := t.step(t.finish)
	return t.stats, err
}

func (t *TreeWriter) finish() error {
	if err := t.flushAll(); err != nil {
		return err
	}
	if err := t.out.Close(); err != nil {
		return err
	}
	if !t.Split() {
		if err := t.writer.catalog.End(); err != nil {
			return err
		}
	}
	for _, s := range []*stream{t.entries, t.contents} {
		if s == nil {
			continue
		}
		stats, err := s.finish()
		if err != nil {
			return err
		}
		t.stats.Archives = append(t.stats.Archives, stats)
	}
	// Nothing that goes wrong with what was only read makes what was written any worse.
	_ = t.previous.Close()
	t.writer.tree, t.previous = nil, nil
	t.err = errTreeDone
	var err error
	t.end(&err)
	return err
}

// Close gives the tree up, unless it is finished. The snapshot can only be closed then. A second call does nothing.
func (t *TreeWriter) Close() error {
	if t == nil {
		return nil
	}
	t.writer.mu.Lock()
	defer t.writer.mu.Unlock()
	if t.err == nil {
		_ = t.giveUp(errTreeGivenUp)
	}
	return nil
}

var errTreeGivenUp = errors.New("a directory tree was given up")

// giveUp ends everything that works for the tree. Of the errors it gives the first cause.
func (t *TreeWriter) giveUp(err error) error {
	for _, s := range []*stream{t.contents, t.entries} {
		if s != nil {
			err = s.giveUp(err)
		}
	}
	for i := range t.queue {
		_ = t.queue[i].close()
	}
	_ = t.previous.Close()
	t.queue, t.previous = nil, nil
	t.end(&err)
	err = fmt.Errorf("archive %q: %w", t.name.Display(), err)
	t.err = err
	t.writer.tree, t.writer.failed = nil, err
	return err
}
