package export

import (
	"io"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

// Pxar writes top, which has to be a directory, and everything below it as a pxar archive of version 1 with top as its root. After an
// error what was written is no complete archive.
func Pxar(w io.Writer, a *pxar.Archive, top *pxar.Entry, opts Options) (Stats, error) {
	if _, err := a.Dir(top); err != nil {
		return Stats{}, err
	}
	return run(a, top, &pxarFormat{out: w, top: strings.TrimSuffix(top.Path, "/"), places: map[uint64]uint64{}}, opts)
}

type pxarFormat struct {
	out    io.Writer
	w      *pxar.Writer // nil before the root
	top    string       // "" for the root
	depth  int
	places map[uint64]uint64 // of names: there and here
}

// relative is the path in the new archive.
func (p *pxarFormat) relative(path string) string { return strings.TrimPrefix(path, p.top) }

// leave ends the directories that the path is not in.
func (p *pxarFormat) leave(path string) error {
	for ; p.depth >= strings.Count(p.relative(path), "/"); p.depth-- {
		if err := p.w.Leave(); err != nil {
			return err
		}
	}
	return nil
}

func (p *pxarFormat) entry(e *pxar.Entry, content io.Reader) (err error) {
	if p.w == nil {
		p.w, err = pxar.NewWriter(p.out, &e.Metadata, pxar.WriterOptions{})
		return err
	}
	if err := p.leave(e.Path); err != nil {
		return err
	}
	place, err := p.w.Add(e.Name(), e, content)
	if err != nil {
		return err
	}
	if e.Kind == pxar.Directory {
		p.depth++
	}
	if e.Kind == pxar.File && len(p.places) < maxSeen {
		p.places[e.Position()] = place
	}
	return nil
}

func (p *pxarFormat) link(e, to *pxar.Entry, first uint64) error {
	place, ok := p.places[first]
	if !ok {
		return errNoLinks
	}
	if err := p.leave(e.Path); err != nil {
		return err
	}
	return p.w.Link(e.Name(), p.relative(to.Path)[1:], place)
}

func (p *pxarFormat) close() error {
	if err := p.leave(p.top + "/x"); err != nil {
		return err
	}
	return p.w.Close()
}
