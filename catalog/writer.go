package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Writer writes a catalog, from front to back. Begin a directory for each archive, named like its index,
// and in it what the archive holds, in its order. The first error is final. Memory is what the entries of the open directories need.
type Writer struct {
	w    io.Writer
	pos  uint64
	dirs []openDir
	err  error
}

type openDir struct {
	name    string
	count   uint64
	entries []byte
	// children are the blocks of the directories among the entries; how far back they are is known only at the end.
	pieces []piece
}

// piece is a part of the entries that ends with a directory.
type piece struct {
	end   int
	block uint64
}

// errMisuse means that the writer was used wrongly.
var errMisuse = errors.New("no directory is open, or one is that should not be")

// NewWriter writes the beginning.
func NewWriter(w io.Writer) (*Writer, error) {
	c := &Writer{w: w, dirs: []openDir{{}}}
	begin := magic()
	c.write(begin[:])
	return c, c.err
}

func (c *Writer) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
		c.pos += uint64(len(b))
	}
}

// Begin begins a directory in the one that is open.
func (c *Writer) Begin(name string) error {
	if c.admit(name) {
		c.dirs = append(c.dirs, openDir{name: name})
	}
	return c.err
}

// Add adds an entry that is no directory. Size and ModTime are used of files only.
func (c *Writer) Add(e Entry) error {
	if !c.admit(e.Name) {
		return c.err
	}
	if !e.Kind.valid() || e.Kind == Directory {
		c.err = fmt.Errorf("a %v can't be added", e.Kind)
		return c.err
	}
	dir := &c.dirs[len(c.dirs)-1]
	dir.add(e.Kind, e.Name)
	if e.Kind == File {
		dir.entries = appendInt(appendUint(dir.entries, e.Size), e.ModTime)
	}
	return nil
}

func (c *Writer) admit(name string) bool {
	switch {
	case c.err != nil:
	case len(c.dirs) == 0:
		c.err = errMisuse
	case len(name) > maxName:
		c.err = fmt.Errorf("name of %d bytes is too long for a catalog", len(name))
	}
	return c.err == nil
}

func (d *openDir) add(kind Kind, name string) {
	d.count++
	d.entries = appendUint(append(d.entries, byte(kind)), uint64(len(name)))
	d.entries = append(d.entries, name...)
}

// End ends the directory that was begun last.
func (c *Writer) End() error {
	if c.err == nil && len(c.dirs) < 2 {
		c.err = errMisuse
	}
	if c.err != nil {
		return c.err
	}
	name := c.dirs[len(c.dirs)-1].name
	start := c.block()
	parent := &c.dirs[len(c.dirs)-1]
	parent.add(Directory, name)
	parent.pieces = append(parent.pieces, piece{len(parent.entries), start})
	return c.err
}

// block writes the last directory's block and closes it.
func (c *Writer) block() (start uint64) {
	dir := c.dirs[len(c.dirs)-1]
	c.dirs = c.dirs[:len(c.dirs)-1]
	start = c.pos
	body := appendUint(nil, dir.count)
	done := 0
	for _, p := range dir.pieces {
		body = appendUint(append(body, dir.entries[done:p.end]...), start-p.block)
		done = p.end
	}
	body = append(body, dir.entries[done:]...)
	c.write(appendUint(nil, uint64(len(body))))
	c.write(body)
	return start
}

// Close writes the root and the end. It does not close the writer below.
func (c *Writer) Close() error {
	if c.err == nil && len(c.dirs) != 1 {
		c.err = errMisuse
	}
	if c.err != nil {
		return c.err
	}
	root := c.block()
	c.write(binary.LittleEndian.AppendUint64(nil, root))
	if c.err != nil {
		return c.err
	}
	c.err = errMisuse
	return nil
}
