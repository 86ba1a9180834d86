package datastore

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"sync/atomic"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
)

// chunkUse is how large a chunk is and who refers to it. Snapshots are numbers in the report.
type chunkUse struct {
	first, last uint32
	size        uint32 // of its file, with the two marks below; no chunk is that large
}

const (
	noSnapshot        = math.MaxUint32
	sharedBySnapshots = 1 << 31
	sharedByGroups    = 1 << 30
	sizeMask          = sharedByGroups - 1
)

// sizeTable knows the chunks of a store by their directory and by what follows in
// the digest: 80 bits, enough to tell them apart. It is filled once and has no
// empty places.
type sizeTable struct {
	chunks *chunkstore.Store
	parts  [chunkstore.Directories]sizePart
}

// sizePart are the chunks of one directory, in order.
type sizePart struct {
	keys []uint64
	uses []chunkUse
}

func newSizeTable(chunks *chunkstore.Store) *sizeTable { return &sizeTable{chunks: chunks} }

func partOf(d *digest.Digest) uint16 { return binary.BigEndian.Uint16(d[:]) }

func keyOf(d *digest.Digest) uint64 { return binary.BigEndian.Uint64(d[2:]) }

// fillSizes reads the chunk directories. What can't be read is left out: it is
// looked up when something refers to it, and its error belongs there.
func (d *Datastore) fillSizes(ctx context.Context, table *sizeTable) error {
	var done atomic.Int64
	err := table.chunks.WalkParallel(ctx, collectors(), nil, func(worker int, dir *chunkstore.Directory) error {
		table.parts[dir.Number] = newSizePart(dir)
		if n := done.Add(1); worker == 0 {
			d.opts.Events.progress(Progress{Operation: "survey", Object: d.path, Done: uint64(n), Total: chunkstore.Directories, Items: true})
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

func newSizePart(dir *chunkstore.Directory) (p sizePart) {
	for _, f := range dir.Files { // in order of name
		if f.Kind != chunkstore.ChunkFile {
			continue
		}
		if info, err := dir.Stat(f); err == nil && info.Regular && info.Size > 0 {
			p.keys = append(p.keys, keyOf(&f.Digest))
			p.uses = append(p.uses, newChunkUse(info.Size))
		}
	}
	return p.clip()
}

// clip gives back what append took in advance.
func (p sizePart) clip() sizePart {
	return sizePart{append(make([]uint64, 0, len(p.keys)), p.keys...), append(make([]chunkUse, 0, len(p.uses)), p.uses...)}
}

func newChunkUse(size int64) chunkUse {
	return chunkUse{first: noSnapshot, last: noSnapshot, size: uint32(max(0, min(size, sizeMask)))}
}

// find gives what is known of a chunk, or nil. Digests are spread evenly, or by
// somebody who wants it to take long: it halves.
func (t *sizeTable) find(d *digest.Digest) *chunkUse {
	p := &t.parts[partOf(d)]
	key, low, high := keyOf(d), 0, len(p.keys)
	for low < high {
		if middle := int(uint(low+high) >> 1); p.keys[middle] < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(p.keys) && p.keys[low] == key {
		return &p.uses[low]
	}
	return nil
}

// lookUp asks for a chunk that was not there when the directories were read.
func (t *sizeTable) lookUp(d digest.Digest) (chunkUse, error) {
	info, err := t.chunks.Lookup(d)
	if err != nil && !errors.Is(err, chunkstore.ErrMissing) && !errors.Is(err, chunkstore.ErrForeign) {
		return chunkUse{}, err
	}
	return newChunkUse(info.Size), nil
}
