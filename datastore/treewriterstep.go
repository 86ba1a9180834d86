package datastore

import (
	"fmt"
	"io"

	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/reuse"
)

type stepKind int

const (
	stepAdd stepKind = iota
	stepFile
	stepLink
	stepLeave
)

// treeStep is what one call gave: an entry, or the end of a directory.
type treeStep struct {
	kind    stepKind
	name    string
	path    string // below the root
	entry   pxar.Entry
	content io.ReadCloser // of a file, to be closed
	linked  bool
	old     uint64 // of a file that is put off: where its content is in the previous payload
}

func (s *treeStep) close() error {
	if s.content == nil {
		return nil
	}
	err := s.content.Close()
	s.content = nil
	return err
}

// failed closes the content of a step that can't be written.
func (s *treeStep) failed(err error) error {
	_ = s.close()
	return err
}

// write writes a step. A file is read if its content is there, and else is where its entry says.
func (t *TreeWriter) write(s *treeStep) error {
	err := t.writeEntry(s)
	if err == nil && !t.Split() {
		err = t.listInCatalog(s)
	}
	return err
}

func (t *TreeWriter) writeEntry(s *treeStep) error {
	switch s.kind {
	case stepFile:
		return t.writeFile(s)
	case stepLink:
		first, there := t.links[s.entry.Target]
		if !there {
			return fmt.Errorf("hard link %q to %q, which is no file that was given before as one with several names", s.path, s.entry.Target)
		}
		return t.out.Link(s.name, s.entry.Target, first)
	case stepLeave:
		return t.out.Leave()
	case stepAdd:
	}
	_, err := t.out.Add(s.name, &s.entry, nil)
	return err
}

// writeFile reads the content, if it is to be read, and closes it in any case.
func (t *TreeWriter) writeFile(s *treeStep) error {
	var content io.Reader
	if s.content != nil {
		content = s.content
		if t.Split() {
			if err := t.contents.expect(reuse.Header + s.entry.Size); err != nil {
				return s.failed(err)
			}
		}
	}
	position, err := t.out.Add(s.name, &s.entry, content)
	if closing := s.close(); err == nil && closing != nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("content of %q: %w", s.path, err)
	}
	if s.linked {
		t.links[s.path] = position
	}
	t.count(&s.entry)
	return nil
}

// count counts a file that is written.
func (t *TreeWriter) count(e *pxar.Entry) {
	t.stats.Files++
	t.stats.Bytes += e.Size
	t.contents.entry.tally.file()
}

func (t *TreeWriter) listInCatalog(s *treeStep) error {
	list := t.writer.catalog
	switch {
	case s.kind == stepLeave:
		return list.End()
	case s.entry.Kind == pxar.Directory:
		return list.Begin(s.name)
	}
	return list.Add(catalog.Entry{Kind: catalog.KindOf(&s.entry), Name: s.name, Size: s.entry.Size, ModTime: s.entry.Seconds})
}
