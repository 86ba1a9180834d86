package datastore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// maxDamagedIndexes bounds how many indexes with lost chunks are reported one by one.
const maxDamagedIndexes = 1000

// DamagedIndex is an index that names chunks of which there is no file that anybody can read.
type DamagedIndex struct {
	// Path is that of the index, relative to the store.
	Path string
	// Lost is how many of its entries name such a chunk, Bad how many of those have
	// a file left that a verification found damaged and put aside.
	Lost, Bad int
}

// traceDamage finds out which indexes name the chunks that are missing or empty. Only where
// there are such chunks, everything is read a second time for it.
func (c *collection) traceDamage(ctx context.Context) error {
	if c.report.Missing+c.report.Empty == 0 {
		return nil
	}
	bad := newMarks()
	err := c.chunks.Walk(ctx, nil, func(d *chunkstore.Directory) error { return c.seeGood(d, bad) })
	if err != nil {
		return err
	}
	tree := indexTree{
		root:   c.root,
		hidden: func(string, string, fs.FileMode) error { return nil },
		link:   func(string, string) {},
		file:   func(string, string) {},
		index: func(ctx context.Context, dir *os.File, parent, name string) error {
			return c.traceIndex(ctx, dir, path.Join(parent, name), bad)
		},
	}
	err = tree.walk(ctx, ".")
	slices.SortFunc(c.report.Damaged, func(a, b DamagedIndex) int { return cmp.Compare(a.Path, b.Path) })
	return err
}

// seeGood takes note of the chunks in use that have a file with something in it,
// and of those that have a damaged one.
func (c *collection) seeGood(d *chunkstore.Directory, bad *marks) error {
	for _, f := range d.Files {
		switch f.Kind {
		case chunkstore.ChunkFile:
			info, err := d.Stat(f)
			if err == nil && info.Regular && info.Size > 0 {
				c.marks.see(f.Digest)
			}
			if err := ignoreVanished(err); err != nil {
				return err
			}
		case chunkstore.BadFile:
			if c.marks.has(f.Digest) {
				bad.add(f.Digest)
			}
		case chunkstore.TempFile, chunkstore.UsingMarker, chunkstore.OtherFile:
		}
	}
	return nil
}

// traceIndex counts the lost chunks of one index. One that can't be opened any more names none.
func (c *collection) traceIndex(ctx context.Context, dir *os.File, full string, bad *marks) error {
	f, err := beneath.OpenRegular(dir, path.Base(full))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, beneath.ErrNotRegular) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	damaged := DamagedIndex{Path: full}
	for d, err := range index.Digests(ctx, f, stat.Size(), indexKindOf(full)) {
		if errors.Is(err, index.ErrCorrupt) {
			return nil // blocks the collection, and is told as that
		}
		if err != nil {
			return err
		}
		if found, seen := c.marks.seen(d); !found || seen {
			continue
		}
		damaged.Lost++
		if bad.has(d) {
			damaged.Bad++
		}
	}
	c.noteDamaged(damaged)
	return nil
}

func (c *collection) noteDamaged(damaged DamagedIndex) {
	if damaged.Lost == 0 {
		return
	}
	c.report.DamagedIndexes++
	if len(c.report.Damaged) < maxDamagedIndexes {
		c.report.Damaged = append(c.report.Damaged, damaged)
	}
}
