package pxar

import (
	"bufio"
	"errors"
	"io"
	"math"
)

// source reads forward, knows where it is, and leaps over what is not wanted where it can.
type source struct {
	r      *bufio.Reader
	pos    uint64    // in the archive, of the next byte
	limit  uint64    // nothing is read from here on, as if the archive ended here
	seeker io.Seeker // nil if there is no leaping
	base   uint64    // the place in the archive that is the seeker's beginning
	left   uint64    // bytes from pos to the end, with a seeker
	buf    []byte
}

const (
	sourceBuffer = 16 << 10
	worthALeap   = 4 * sourceBuffer
)

// newSource reads r, whose first byte is at pos.
func newSource(r io.Reader, pos uint64) *source {
	s := &source{r: bufio.NewReaderSize(r, sourceBuffer), pos: pos, limit: math.MaxUint64}
	s.findSeeker(r)
	return s
}

func (s *source) findSeeker(r io.Reader) {
	seeker, ok := r.(io.Seeker)
	if !ok {
		return
	}
	here, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return // a pipe, as an *os.File
	}
	end, err := seeker.Seek(0, io.SeekEnd)
	if err != nil || end < here {
		return
	}
	if _, err := seeker.Seek(here, io.SeekStart); err == nil {
		s.seeker, s.base, s.left = seeker, s.pos-uint64(here), uint64(end-here)
	}
}

// peek gives the next header, and io.EOF only if there is not a single byte more.
func (s *source) peek() (header, error) {
	switch room := s.limit - s.pos; {
	case room == 0:
		return header{}, io.EOF
	case room < headerSize:
		return header{}, io.ErrUnexpectedEOF
	}
	b, err := s.r.Peek(headerSize)
	if len(b) == headerSize {
		return parseHeader(b)
	}
	if errors.Is(err, io.EOF) && len(b) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return header{}, err
}

// header reads a header.
func (s *source) header(where string) (header, error) {
	h, err := s.peek()
	if err != nil {
		return h, cutShort(err, where)
	}
	_, err = s.full(headerSize, where)
	return h, err
}

// full gives the next n bytes, which are good until the next call.
func (s *source) full(n uint64, where string) ([]byte, error) {
	if n > s.limit-s.pos {
		return nil, cutShort(io.ErrUnexpectedEOF, where)
	}
	if n > uint64(len(s.buf)) {
		s.buf = make([]byte, max(n, 512))
	}
	b := s.buf[:n]
	if _, err := io.ReadFull(s.r, b); err != nil {
		return nil, cutShort(err, where)
	}
	s.advance(n)
	return b, nil
}

// content gives a header's content.
func (s *source) content(h header) ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	return s.full(h.size, h.kind.String())
}

func (s *source) advance(n uint64) {
	s.pos += n
	s.left -= min(n, s.left)
}

// read reads at most limit bytes.
func (s *source) read(p []byte, limit uint64) (int, error) {
	if uint64(len(p)) > limit {
		p = p[:limit]
	}
	n, err := s.r.Read(p)
	s.advance(uint64(n))
	return n, err
}

// skip goes n bytes forward, without reading them if it can. The end of the source is noticed.
func (s *source) skip(n uint64, where string) error {
	switch {
	case s.seeker != nil && n > s.left || n > math.MaxInt64:
		return cutShort(io.ErrUnexpectedEOF, where)
	case s.seeker != nil && n > worthALeap:
		return s.move(s.pos + n)
	}
	skipped, err := io.CopyN(io.Discard, s.r, int64(n))
	s.advance(uint64(skipped))
	return cutShort(err, where)
}

// move goes to any place at or behind the seeker's beginning, and lifts the limit.
func (s *source) move(to uint64) error {
	s.limit = math.MaxUint64
	if to >= s.pos && to-s.pos <= uint64(s.r.Buffered()) {
		return s.skip(to-s.pos, "the archive")
	}
	if _, err := s.seeker.Seek(int64(to-s.base), io.SeekStart); err != nil {
		return err
	}
	s.left += s.pos - to // wraps both ways
	s.pos = to
	s.r.Reset(s.seeker.(io.Reader)) // it was made from a reader
	return nil
}
