package pxar

import (
	"cmp"
	"encoding/binary"
	"io"
	"strings"
)

// maxPath bounds the names of the directories that a reader is in at a time, and so
// what each entry costs. A path that Linux takes in one piece has 4 KiB.
const maxPath = 64 << 10

// ReaderOptions are how an archive is read.
type ReaderOptions struct {
	// Payload is the payload stream (.ppxar) of a split archive. Without it the entries
	// can be read and contents are [ErrNoPayload].
	Payload io.Reader
}

// Reader reads an archive from front to back, entry by entry, in the order of the
// archive: a directory stands before what is in it. It needs memory for one entry and the
// path to it. Where its source is an [io.Seeker], contents that nobody reads are leapt over.
type Reader struct {
	version int
	prelude []byte

	src      *source
	contents contents
	path     []byte
	ends     []int // lengths of the paths of the directories that we are in
	begun    bool
	top      uint64 // where the name of the first directory is
	alone    *Entry // the only entry there is, of a walk over no directory
	current  Entry
	open     io.Reader // the current entry's content
	left     uint64    // of it
	err      error
}

// contents finds content that is not in the archive itself.
type contents interface {
	reach(e *Entry) error             // called for each entry
	open(e *Entry) (io.Reader, error) // only for those that are read
}

// NewReader reads the beginning. An error is [ErrCorrupt], or one of the source.
func NewReader(r io.Reader, opts ReaderOptions) (*Reader, error) {
	reader := &Reader{src: newSource(r, 0), version: 1, contents: noPayload{}}
	if opts.Payload != nil {
		payload, err := newPayloadStream(opts.Payload)
		if err != nil {
			return nil, err
		}
		reader.contents = payload
	}
	return reader, reader.preamble()
}

// Version is 2 for a split archive, else 1.
func (r *Reader) Version() int { return r.version }

// Prelude is what a split archive begins with, such as the JSON of the exclude patterns; nil if there is none.
func (r *Reader) Prelude() []byte { return r.prelude }

// preamble reads what stands before the first entry of version 2.
func (r *Reader) preamble() error {
	h, err := r.src.peek()
	if err != nil {
		return cutShort(err, "the first item")
	}
	if h.kind != itemVersion {
		return nil
	}
	b, err := r.src.full(headerSize+8, h.kind.String())
	if err != nil {
		return err
	}
	if r.version, err = checkVersion(binary.LittleEndian.Uint64(b[headerSize:])); err != nil {
		return err
	}
	if h, err = r.src.peek(); err != nil || h.kind != itemPrelude {
		return nil //nolint:nilerr // the first entry's reading says what is wrong
	}
	if err := h.check(); err != nil {
		return err
	}
	return r.readPrelude()
}

func (r *Reader) readPrelude() error {
	h, err := r.src.header("PRELUDE")
	if err != nil {
		return err
	}
	r.prelude, err = io.ReadAll(io.LimitReader(r.src.r, int64(h.size)))
	r.src.advance(uint64(len(r.prelude)))
	if err == nil && uint64(len(r.prelude)) < h.size {
		err = io.ErrUnexpectedEOF
	}
	return cutShort(err, "PRELUDE")
}

func checkVersion(v uint64) (int, error) {
	if v != 1 && v != 2 {
		return 0, corruptf("unknown version %d", v)
	}
	return int(v), nil
}

// Next gives the next entry, the root first, and io.EOF behind the last. Another error is
// final. The entry belongs to the caller.
func (r *Reader) Next() (*Entry, error) {
	if r.err == nil {
		r.err = r.next()
	}
	if r.err != nil {
		return nil, r.err
	}
	r.left = r.current.Size
	e := r.current
	return &e, nil
}

func (r *Reader) next() error {
	if r.alone != nil {
		if r.begun {
			return io.EOF
		}
		r.begun, r.current = true, *r.alone
		return nil
	}
	if !r.begun {
		r.begun = true
		return r.root()
	}
	if err := r.leave(); err != nil {
		return err
	}
	for len(r.ends) > 0 {
		at := r.src.pos
		h, err := r.src.header("a directory")
		switch {
		case err != nil:
			return err
		case h.kind == itemFilename:
			return r.child(at, h)
		case h.kind != itemGoodbye:
			return corruptf("%s item at %d, where a name or the end of the directory has to be", h.kind, at)
		}
		// Read, not leapt over: it may be the last item, and be cut off.
		n, err := io.CopyN(io.Discard, r.src.r, int64(min(h.size, 1<<62)))
		r.src.advance(uint64(n))
		if err != nil {
			return cutShort(err, "a table")
		}
		r.ends = r.ends[:len(r.ends)-1]
	}
	return io.EOF
}

// root reads the directory that everything is in, whose path is known.
func (r *Reader) root() error {
	r.current = Entry{Path: cmp.Or(string(r.path), "/"), name: r.top}
	return r.src.entry(&r.current, false)
}

// leave goes behind the current entry, into it if it is a directory.
func (r *Reader) leave() error {
	e := &r.current
	switch {
	case e.Kind == Directory:
		if len(r.ends) > 0 {
			r.path = append(append(r.path[:r.ends[len(r.ends)-1]], '/'), e.Name()...)
		}
		if len(r.path) > maxPath {
			return corruptf("path of more than %d bytes", maxPath)
		}
		r.ends = append(r.ends, len(r.path))
		return nil
	case len(r.ends) == 0:
		return corruptf("the root is a %v, and has to be a directory", e.Kind)
	case e.Kind == File && !e.Split:
		return r.src.skip(e.content+e.Size-r.src.pos, "the content of a file")
	}
	return nil
}

func (r *Reader) child(at uint64, h header) error {
	name, err := r.src.filename(h)
	if err != nil {
		return err
	}
	var full strings.Builder
	full.Grow(r.ends[len(r.ends)-1] + 1 + len(name))
	full.Write(r.path[:r.ends[len(r.ends)-1]])
	full.WriteByte('/')
	full.Write(name)
	r.current = Entry{Path: full.String(), name: at}
	r.open = nil
	if err := r.src.entry(&r.current, false); err != nil {
		return err
	}
	if r.current.Split {
		return r.contents.reach(&r.current)
	}
	return nil
}

// Read reads the content of the file that Next gave last; other entries have none.
// Content that is cut off or not to be had is an error, after which Next may go on.
func (r *Reader) Read(p []byte) (int, error) {
	switch {
	case r.err != nil:
		return 0, r.err
	case r.current.Kind != File || r.left == 0:
		return 0, io.EOF
	case r.alone != nil || r.current.Split:
		return r.readElsewhere(p)
	}
	n, err := r.src.read(p, r.left)
	r.left -= uint64(n)
	return n, cutShort(err, "the content of a file")
}

func (r *Reader) readElsewhere(p []byte) (n int, err error) {
	if r.open == nil {
		if r.open, err = r.contents.open(&r.current); err != nil {
			return 0, err
		}
	}
	if uint64(len(p)) > r.left {
		p = p[:r.left]
	}
	n, err = r.open.Read(p)
	r.left -= uint64(n)
	if r.left == 0 && err == io.EOF { //nolint:errorlint // a Reader's own io.EOF
		return n, nil
	}
	return n, cutShort(err, "the content of a file")
}
