package pxar

import "io"

// Walk reads the entry e and everything below it, in the order of the archive. Unlike a
// descent over the tables it takes time in proportion to the bytes that there are, whatever the archive
// says. Contents that nobody reads are leapt over.
func (a *Archive) Walk(e *Entry) (*Reader, error) {
	r := &Reader{version: a.version, contents: archiveContents{a}}
	switch {
	case e.Kind != Directory:
		r.alone = e
	case e.Path == "/":
		r.src = a.source(0, a.size)
		return r, r.preamble()
	default:
		if _, err := a.Dir(e); err != nil {
			return nil, err
		}
		r.src = a.source(e.start, e.end)
		r.path = []byte(e.Path)
		r.top = e.name
	}
	return r, nil
}

// archiveContents finds contents at their place, in whatever order they are.
type archiveContents struct{ a *Archive }

func (archiveContents) reach(*Entry) error                 { return nil }
func (c archiveContents) open(e *Entry) (io.Reader, error) { return c.a.Content(e) }
