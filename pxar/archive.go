package pxar

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
	"sync"
)

// Archive is an archive that can be read at any place. A lookup costs a few small
// reads for each part of the path, however large the archive is. It is safe for
// concurrent use if its sources are.
type Archive struct {
	r           io.ReaderAt
	size        uint64
	payload     io.ReaderAt
	payloadSize uint64
	version     int
	root        *Dir
	readers     sync.Pool // of *bufio.Reader, for lookups: they are many, and need one for a moment each
}

// OpenOptions are how an archive is opened.
type OpenOptions struct {
	// Payload is the payload (.ppxar) of a split archive, and PayloadSize its size in bytes. Without
	// it the entries can be read and contents are [ErrNoPayload].
	Payload     io.ReaderAt
	PayloadSize int64
}

// Open opens an archive of size bytes. An error is [ErrCorrupt], or one of r.
func Open(r io.ReaderAt, size int64, opts OpenOptions) (*Archive, error) {
	a := &Archive{
		r: r, size: uint64(max(size, 0)), version: 1,
		payload: opts.Payload, payloadSize: uint64(max(opts.PayloadSize, 0)),
	}
	if err := a.readVersion(); err != nil {
		return nil, err
	}
	var err error
	a.root, err = a.dir(0, a.size, "")
	return a, err
}

func (a *Archive) readVersion() error {
	b, err := a.read(0, headerSize+8)
	if err != nil || itemType(binary.LittleEndian.Uint64(b)) != itemVersion {
		return err
	}
	a.version, err = checkVersion(binary.LittleEndian.Uint64(b[headerSize:]))
	return err
}

// read reads n bytes, n being small.
func (a *Archive) read(at, n uint64) ([]byte, error) {
	if n > a.size || at > a.size-n {
		return nil, corruptf("%d bytes at %d are beyond the end at %d", n, at, a.size)
	}
	b := make([]byte, n)
	if got, err := a.r.ReadAt(b, int64(at)); got < len(b) {
		return b, cutShort(err, "the archive")
	}
	return b, nil
}

// source reads the range from start to end.
func (a *Archive) source(start, end uint64) *source {
	return newSource(io.NewSectionReader(a.r, int64(start), int64(end-start)), start)
}

// lookupBuffer is enough for most entries.
const lookupBuffer = 2 << 10

// briefly reads the range from start to end with a buffer that is to be given back with done.
func (a *Archive) briefly(start, end uint64) *source {
	reader, ok := a.readers.Get().(*bufio.Reader)
	if !ok {
		reader = bufio.NewReaderSize(nil, lookupBuffer)
	}
	section := io.NewSectionReader(a.r, int64(start), int64(end-start))
	reader.Reset(section)
	src := &source{r: reader, pos: start, limit: math.MaxUint64}
	src.findSeeker(section)
	return src
}

func (a *Archive) done(src *source) {
	src.r.Reset(nil)
	a.readers.Put(src.r)
}

// Version is 2 for a split archive, else 1.
func (a *Archive) Version() int { return a.version }

// Root is the directory that everything is in.
func (a *Archive) Root() (*Entry, error) {
	src := a.source(a.root.start, a.size)
	e := &Entry{Path: "/"}
	for {
		h, err := src.peek()
		if err != nil {
			return nil, cutShort(err, "the root")
		}
		if h.kind != itemVersion && h.kind != itemPrelude {
			break
		}
		if err := src.skip(headerSize+min(h.size, math.MaxInt64-headerSize), "the root"); err != nil {
			return nil, err
		}
	}
	if err := src.entry(e, false); err != nil {
		return nil, err
	}
	e.end = a.size
	return e, nil
}

// Lookup finds the entry of a path. "" and "/" are the root; "." and ".." are taken out
// of the text beforehand. Links are not followed. The error is [ErrNotFound],
// [ErrNotDirectory] or [ErrCorrupt], with the path.
func (a *Archive) Lookup(name string) (*Entry, error) {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		return a.Root()
	}
	var e *Entry
	var err error
	dir := a.root // not by its entry, which is at the other end of the archive
	for part := range strings.SplitSeq(name, "/") {
		if e != nil {
			dir, err = a.Dir(e)
		}
		if err == nil {
			e, err = dir.Lookup(part)
		}
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Dir opens a directory.
func (a *Archive) Dir(e *Entry) (*Dir, error) {
	if e.Kind != Directory {
		return nil, notDirectory(e)
	}
	if e.Path == "/" {
		return a.root, nil
	}
	d, err := a.dir(e.start, e.end, e.Path)
	if err != nil {
		return nil, fmt.Errorf("directory %q: %w", e.Path, err)
	}
	return d, nil
}

func notDirectory(e *Entry) error {
	if e.Kind == Symlink {
		return fmt.Errorf("%q is a symbolic link to %q: %w", e.Path, e.Target, ErrNotDirectory)
	}
	return fmt.Errorf("%q is a %v: %w", e.Path, e.Kind, ErrNotDirectory)
}

// Resolve gives, for a hard link, the file that it is another name of, under the link's own path; every
// other entry is given back as it is.
func (a *Archive) Resolve(e *Entry) (*Entry, error) {
	if e.Kind != Hardlink {
		return e, nil
	}
	file, err := a.follow(e)
	if err != nil {
		return nil, fmt.Errorf("hard link %q: %w", e.Path, err)
	}
	return file, nil
}

func (a *Archive) follow(e *Entry) (*Entry, error) {
	if e.LinkOffset > e.name {
		return nil, corruptf("it points %d bytes back, and stands at %d", e.LinkOffset, e.name)
	}
	at := e.name - e.LinkOffset
	src := a.source(at, a.size)
	h, err := src.header("a hard link's first name")
	if err != nil {
		return nil, err
	}
	if h.kind != itemFilename {
		return nil, corruptf("it points to %s", h.kind)
	}
	if _, err := src.filename(h); err != nil {
		return nil, err
	}
	file := &Entry{Path: e.Path, name: at, end: a.size}
	if err := src.entry(file, true); err != nil {
		return nil, err
	}
	if file.Kind != File {
		return nil, corruptf("it points to a %v", file.Kind)
	}
	return file, nil
}

// Content gives the content of a file; a hard link is followed. Other kinds have none, which is [ErrNotFound].
func (a *Archive) Content(e *Entry) (*io.SectionReader, error) {
	e, err := a.Resolve(e)
	if err != nil {
		return nil, err
	}
	if e.Kind != File {
		return nil, fmt.Errorf("%q is a %v and has no content: %w", e.Path, e.Kind, ErrNotFound)
	}
	if e.Split {
		return a.splitContent(e)
	}
	if e.content > a.size || e.Size > a.size-e.content {
		return nil, corruptf("the content of %q ends beyond the archive", e.Path)
	}
	return io.NewSectionReader(a.r, int64(e.content), int64(e.Size)), nil
}

func (a *Archive) splitContent(e *Entry) (*io.SectionReader, error) {
	if a.payload == nil {
		return nil, fmt.Errorf("%q: %w", e.Path, ErrNoPayload)
	}
	if a.payloadSize < headerSize || e.PayloadOffset > a.payloadSize-headerSize {
		return nil, corruptf("the content of %q begins beyond the payload", e.Path)
	}
	b := make([]byte, headerSize)
	if _, err := io.ReadFull(io.NewSectionReader(a.payload, int64(e.PayloadOffset), headerSize), b); err != nil {
		return nil, cutShort(err, "the payload")
	}
	h, err := parseHeader(b)
	if err != nil {
		return nil, err
	}
	if err := checkPayload(h, e); err != nil {
		return nil, err
	}
	start := e.PayloadOffset + headerSize
	if e.Size > a.payloadSize-start {
		return nil, corruptf("the content of %q ends beyond the payload", e.Path)
	}
	return io.NewSectionReader(a.payload, int64(start), int64(e.Size)), nil
}
