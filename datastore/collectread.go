package datastore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

// maxCollectors bounds the goroutines of a collection, and with that its descriptors.
const maxCollectors = 8

func collectors() int { return min(runtime.GOMAXPROCS(0), maxCollectors) }

// openIndex is an index to be read.
type openIndex struct {
	file *os.File
	path string
	kind index.Kind
}

// indexReaders read indexes, one each at a time, while the tree is walked.
type indexReaders struct {
	collection *collection
	work       chan openIndex
	group      sync.WaitGroup
	cancel     context.CancelCauseFunc
	ctx        context.Context
}

// startReaders gives a context as well, which ends when one of them fails.
func (c *collection) startReaders(ctx context.Context) (*indexReaders, context.Context) {
	r := &indexReaders{collection: c, work: make(chan openIndex)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	for range collectors() {
		r.group.Go(r.run)
	}
	return r, r.ctx
}

// hand passes an index on to the readers, which close it.
func (r *indexReaders) hand(ctx context.Context, x openIndex) error {
	select {
	case r.work <- x:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), x.file.Close())
	}
}

// finish waits until all was read. The error is the first: that of the walk, if no reader failed before.
func (r *indexReaders) finish(walked error) error {
	if walked != nil {
		r.cancel(walked)
	}
	close(r.work)
	r.group.Wait()
	err := context.Cause(r.ctx)
	r.cancel(nil)
	return err
}

func (r *indexReaders) run() {
	writer := r.collection.marks.writer()
	defer writer.flush()
	for x := range r.work {
		if err := r.collection.markDigests(r.ctx, x, writer); err != nil {
			r.cancel(err)
		}
	}
}

// markDigests marks every whole entry, whatever checksum and offsets are. An index
// without a header may have named anything, and one that was cut off may have named
// more: also one that ends between two entries, which only its checksum tells.
func (c *collection) markDigests(ctx context.Context, x openIndex, to *markWriter) error {
	defer x.file.Close()
	stat, err := x.file.Stat()
	if err != nil {
		return err
	}
	hash := sha256.New()
	for entries, err := range index.DigestBlocks(ctx, x.file, stat.Size(), x.kind) {
		if errors.Is(err, index.ErrCorrupt) {
			return c.damaged(x.path, err)
		}
		if err != nil {
			return err
		}
		hash.Write(entries.Bytes())
		for i := range entries.Len() {
			to.add(entries.Digest(i))
		}
	}
	size := uint64(0)
	described, err := index.Open(x.file, stat.Size(), x.kind)
	if err == nil {
		size = described.Size()
		err = c.compareEntries(x.path, described.Checksum(), digest.Digest(hash.Sum(nil)))
	}
	if errors.Is(err, index.ErrCorrupt) {
		err = c.damaged(x.path, err)
	}
	c.counted(size)
	return err
}

// compareEntries compares the entries of an index with its header. Where only the
// checksum in the header is wrong, as the manifest shows, nothing is lost.
func (c *collection) compareEntries(name string, header, entries digest.Digest) error {
	if header == entries {
		return nil
	}
	if c.manifestHas(name, entries) {
		c.Datastore.opts.Events.notice(name, "index with another checksum in its header than in the manifest, which is the right one", nil)
		return nil
	}
	return fmt.Errorf("its entries are not those that it was written with: cut off, or changed: %w", index.ErrCorrupt)
}

// counted adds an index that was read to the figures.
func (c *collection) counted(size uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.IndexFiles++
	c.report.IndexBytes = addSizes(c.report.IndexBytes, size)
	c.Datastore.opts.Events.progress(Progress{Operation: "mark", Object: c.path, Done: uint64(c.report.IndexFiles), Items: true})
}
