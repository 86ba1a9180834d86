package datastore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/pxar"
)

// Likeness is what the names of chunks tell about data without reading it.
type Likeness int

// The likenesses. The zero value is that they tell nothing.
const (
	LikenessUnknown Likeness = iota
	// Same means that the data consists of the same chunks.
	Same
	// Different means that a chunk of it has another name, where it would have the same if the data were the same.
	Different
)

// ErrIncomparable means that chunks are cut or named in different ways, so that their names tell nothing.
var ErrIncomparable = errors.New("the chunks are cut or named in different ways")

// CompareRange compares size bytes at an offset with as many at an offset of another archive, by the digests of their chunks.
// Ranges beyond the end are [ErrCorrupt], since it is an archive that says where something in it is.
func (a *Archive) CompareRange(ctx context.Context, at uint64, other *Archive, otherAt, size uint64) (Likeness, error) {
	if err := errors.Join(a.hasRange(at, size), other.hasRange(otherAt, size)); err != nil {
		return LikenessUnknown, err
	}
	if a.index == nil || other.index == nil {
		return LikenessUnknown, nil
	}
	for size > 0 {
		if ctx.Err() != nil {
			return LikenessUnknown, context.Cause(ctx)
		}
		mine, err := a.chunkOf(at)
		if err != nil {
			return LikenessUnknown, err
		}
		theirs, err := other.chunkOf(otherAt)
		if err != nil {
			return LikenessUnknown, err
		}
		within := at - mine.Start
		switch {
		case within != otherAt-theirs.Start || mine.Size() != theirs.Size():
			return LikenessUnknown, nil
		case mine.Digest == theirs.Digest:
		case within == 0 && size >= mine.Size() && a.namesLike(other):
			return Different, nil
		default:
			return LikenessUnknown, nil
		}
		step := min(size, mine.End-at)
		at, otherAt, size = at+step, otherAt+step, size-step
	}
	return Same, nil
}

func (a *Archive) hasRange(at, size uint64) error {
	if a.damage != nil {
		return a.damage
	}
	if size > a.Size() || at > a.Size()-size {
		return fmt.Errorf("archive %q: %d bytes at %d are beyond its end at %d: %w", a.name.Display(), size, at, a.Size(), ErrCorrupt)
	}
	return nil
}

func (a *Archive) chunkOf(offset uint64) (index.Chunk, error) {
	number, err := a.index.ChunkAt(offset)
	if err != nil {
		return index.Chunk{}, corruptIf(err, index.ErrCorrupt)
	}
	chunk, err := a.index.Chunk(number)
	return chunk, corruptIf(err, index.ErrCorrupt)
}

// namesLike tells that the same data has the same digest in both.
func (a *Archive) namesLike(other *Archive) bool {
	if a.encrypted != other.encrypted {
		return false
	}
	return !a.encrypted || a.reader.key.Fingerprint() == other.reader.key.Fingerprint()
}

// ChangedRange is a part of an image that is not the same in another one.
type ChangedRange struct {
	Start, End uint64 // bytes; the end is exclusive
}

// ChangedRanges tells where an image differs from another one, by the digests of their chunks: a range is as coarse as these,
// 4 MiB as a rule. What only the longer one has is a range of its own, or the end of the last one. Nothing but the indexes is read.
// [ErrIncomparable] is the only element where they tell nothing.
func (a *Archive) ChangedRanges(ctx context.Context, other *Archive) iter.Seq2[ChangedRange, error] {
	return func(yield func(ChangedRange, error) bool) {
		if err := a.comparable(other); err != nil {
			yield(ChangedRange{}, err)
			return
		}
		m := merging{yield: yield}
		longest := max(a.Size(), other.Size())
		chunks, stop := iter.Pull2(other.index.Chunks(ctx))
		defer stop()
		done := uint64(0)
		for mine, err := range a.index.Chunks(ctx) {
			theirs, failed, more := chunks()
			if err = errors.Join(err, failed); err != nil {
				yield(ChangedRange{}, corruptIf(err, index.ErrCorrupt))
				return
			}
			if !more || mine.Size() != theirs.Size() { // the end of one: whether that has changed too can't be told from what comes behind
				break
			}
			done = mine.End
			if mine.Digest != theirs.Digest && !m.add(mine.Start, mine.End) {
				return
			}
		}
		if done == longest || m.add(done, longest) {
			m.flush()
		}
	}
}

// comparable tells whether chunks of two images stand for each other.
func (a *Archive) comparable(other *Archive) error {
	switch {
	case a.damage != nil || other.damage != nil:
		return errors.Join(a.damage, other.damage)
	case a.name.Kind() != backupinfo.FixedIndex || other.name.Kind() != backupinfo.FixedIndex:
		return fmt.Errorf("%q and %q: %w: not both are images", a.name.Display(), other.name.Display(), ErrIncomparable)
	case a.index.ChunkSize() != other.index.ChunkSize() || !a.namesLike(other):
		return fmt.Errorf("%q: %w", a.name.Display(), ErrIncomparable)
	}
	return nil
}

// merging puts ranges that touch each other together.
type merging struct {
	yield func(ChangedRange, error) bool
	last  ChangedRange
}

func (m *merging) add(start, end uint64) bool {
	if m.last.End == start && end > start && m.last.End > 0 {
		m.last.End = end
		return true
	}
	ok := m.flush()
	m.last = ChangedRange{start, end}
	return ok
}

func (m *merging) flush() bool {
	last := m.last
	m.last = ChangedRange{}
	return last.End == 0 || m.yield(last, nil)
}

// CompareContent compares the contents of a file of this tree and one of another tree, by the digests of the chunks that they are in.
// Hard links have to be resolved before. A payload that is missing is [LikenessUnknown].
func (t *Tree) CompareContent(ctx context.Context, file *pxar.Entry, other *Tree, otherFile *pxar.Entry) (Likeness, error) {
	if file.Size != otherFile.Size {
		return Different, nil
	}
	mine, theirs := t.contentArchive(file), other.contentArchive(otherFile)
	if mine == nil || theirs == nil {
		return LikenessUnknown, nil
	}
	at, otherAt := file.ContentPosition(), otherFile.ContentPosition()
	if at > math.MaxInt64 || otherAt > math.MaxInt64 {
		return LikenessUnknown, fmt.Errorf("%q: its content would be at %d: %w", file.Path, max(at, otherAt), ErrCorrupt)
	}
	return mine.CompareRange(ctx, at, theirs, otherAt, file.Size)
}

func (t *Tree) contentArchive(file *pxar.Entry) *Archive {
	switch {
	case !file.Split:
		return t.archives[0]
	case len(t.archives) > 1:
		return t.archives[1]
	}
	return nil
}

// CompareDirectory tells whether a directory, with everything in it and all contents, is the same as one of another tree: [Same]
// or [LikenessUnknown]. The directories have to come from listings or lookups.
func (t *Tree) CompareDirectory(ctx context.Context, dir *pxar.Entry, other *Tree, otherDir *pxar.Entry) (Likeness, error) {
	start, end := dir.Span()
	otherStart, otherEnd := otherDir.Span()
	if end-start != otherEnd-otherStart || end == 0 || len(t.archives) != len(other.archives) {
		return LikenessUnknown, nil
	}
	like, err := t.archives[0].CompareRange(ctx, start, other.archives[0], otherStart, end-start)
	if err != nil || like != Same {
		return LikenessUnknown, err
	}
	for i, payload := range t.archives[1:] { // what the entries refer to
		theirs := other.archives[i+1]
		if payload.Size() != theirs.Size() {
			return LikenessUnknown, nil
		}
		if like, err = payload.CompareRange(ctx, 0, theirs, 0, payload.Size()); err != nil || like != Same {
			return LikenessUnknown, err
		}
	}
	return Same, nil
}
