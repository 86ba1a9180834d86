package catalog

import (
	"errors"
	"fmt"
	"io"
	"iter"
)

const (
	maxDepth = 32 << 10
	maxPath  = 64 << 10
)

// Found is an entry and where it was found.
type Found struct {
	Entry

	// Path begins with "/" and the name of the archive.
	Path string
}

// All walks over everything, directories before what is in them. A directory that is damaged is an error in its place, with
// its path, and the walk goes on behind it.
func (c *Reader) All() iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		w := walk{cursor: c.newCursor(), yield: yield}
		w.enter(c.root, magicSize, c.end)
		for len(w.blocks) > 0 && w.step() {
		}
	}
}

type walk struct {
	cursor *cursor
	yield  func(Found, error) bool
	blocks []block
	path   []byte
	ends   []int // of the path, for each block
}

// enter goes into a directory whose path was appended.
func (w *walk) enter(start, floor, ceiling uint64) bool {
	b, err := w.cursor.enter(start, floor, ceiling)
	if err == nil && (len(w.blocks) >= maxDepth || len(w.path) > maxPath) {
		err = corruptf("directories too deep below each other")
	}
	if err != nil {
		return w.broken(err)
	}
	if parent := len(w.blocks) - 1; parent >= 0 {
		w.blocks[parent].floor = b.end // what comes next was written later; so nothing is read twice
	}
	w.blocks = append(w.blocks, b)
	w.ends = append(w.ends, len(w.path))
	return true
}

func (w *walk) broken(err error) bool {
	return w.yield(Found{}, fmt.Errorf("directory %q: %w", string(w.path)+"/", err))
}

// step reads one entry of the innermost directory.
func (w *walk) step() bool {
	last := len(w.blocks) - 1
	b := &w.blocks[last]
	w.path = w.path[:w.ends[last]]
	e, err := w.cursor.next(b)
	if err != nil {
		w.blocks, w.ends = w.blocks[:last], w.ends[:last]
		return errors.Is(err, io.EOF) || w.broken(err)
	}
	w.path = append(append(w.path, '/'), e.Name...)
	if !w.yield(Found{e, string(w.path)}, nil) {
		return false
	}
	if e.Kind != Directory {
		return true
	}
	return w.enter(e.block, b.floor, b.start)
}
