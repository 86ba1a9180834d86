package pxar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// WriterOptions are how an archive is written.
type WriterOptions struct {
	// Payload takes the contents, which makes the archive a split one of version 2. Without it the
	// archive is of version 1, with the contents inside.
	Payload io.Writer
	// Prelude is put before the entries of a split archive; nil is none.
	Prelude []byte
}

// Writer writes an archive: the root with [NewWriter], then each entry of a directory with
// [Writer.Add], the directories among them entered by that and left with [Writer.Leave], and at the end
// [Writer.Close]. Entries have to come sorted by the bytes of their names; that is not checked, and
// readers do without. The first error is final. Memory is 24 bytes for each entry of the directories that are open.
type Writer struct {
	w          io.Writer
	payload    io.Writer
	pos        uint64 // of the next item
	payloadPos uint64
	dirs       []openDir
	buf        []byte
	err        error
}

type openDir struct {
	start uint64 // of its entry
	name  uint64 // of its name
	hash  uint64 // of its name
	slots []slot
}

// errNoDir means that the writer was used wrongly.
var errNoDir = errors.New("no directory is open")

// NewWriter writes the beginning, with the root's metadata.
func NewWriter(w io.Writer, root *Metadata, opts WriterOptions) (*Writer, error) {
	out := &Writer{w: w, payload: opts.Payload}
	if opts.Payload != nil {
		out.buf = appendWords(out.buf, itemVersion, 2)
		if opts.Prelude != nil {
			out.buf = append(header{itemPrelude, uint64(len(opts.Prelude))}.append(out.buf), opts.Prelude...)
		}
		out.toPayload(header{itemPayloadStart, 0}.append(nil))
	}
	out.dirs = []openDir{{}} // of a split archive the root begins with the version
	out.metadata(root)
	out.flush()
	return out, out.err
}

// PayloadPosition is where the next content of a split archive goes in the payload.
func (w *Writer) PayloadPosition() uint64 { return w.payloadPos }

// SkipPayload counts n bytes that the caller put into the payload himself, by reusing chunks.
func (w *Writer) SkipPayload(n uint64) { w.payloadPos += n }

// Add writes an entry into the directory that is open, and enters it if it is a directory itself.
// What is read of e is its metadata and what its kind has; name is taken instead of its path. A file's
// content has to give e.Size bytes, else the archive is spoilt. In a split archive a nil content means that
// e.PayloadOffset is where it already is. The result is where the entry's name stands, for [Writer.Link].
func (w *Writer) Add(name string, e *Entry, content io.Reader) (position uint64, err error) {
	position = w.pos
	if w.err == nil {
		w.err = w.add(name, e, content)
	}
	return position, w.err
}

func (w *Writer) add(name string, e *Entry, content io.Reader) error {
	if len(w.dirs) == 0 {
		return errNoDir
	}
	if err := CheckName(name); err != nil {
		return err
	}
	at := w.pos
	w.filename(name)
	if e.Kind == Directory {
		w.dirs = append(w.dirs, openDir{start: at + uint64(len(w.buf)), name: at, hash: hashName(name)})
		w.metadata(&e.Metadata)
		w.flush()
		return w.err
	}
	w.metadata(&e.Metadata)
	elsewhere, err := w.last(e, content)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	w.enter(hashName(name), at, elsewhere)
	return nil
}

// last writes the item that says what the entry is, and its content. The size
// that is noted in the table has the content in it wherever that was written now.
func (w *Writer) last(e *Entry, content io.Reader) (elsewhere uint64, err error) {
	switch e.Kind {
	case File:
		return w.file(e, content)
	case Symlink:
		w.text(itemSymlink, nil, e.Target)
	case Device:
		w.buf = appendWords(w.buf, itemDevice, e.Major, e.Minor)
	case FIFO, Socket:
	default:
		return 0, fmt.Errorf("a %v can't be added", e.Kind)
	}
	w.flush()
	return 0, w.err
}

func (w *Writer) file(e *Entry, content io.Reader) (elsewhere uint64, err error) {
	if w.payload == nil {
		w.buf = header{itemPayload, e.Size}.append(w.buf)
		w.flush()
		return 0, w.copy(w.w, &w.pos, content, e.Size)
	}
	if content == nil {
		w.buf = appendWords(w.buf, itemPayloadRef, e.PayloadOffset, e.Size)
		w.flush()
		return 0, w.err
	}
	w.buf = appendWords(w.buf, itemPayloadRef, w.payloadPos, e.Size)
	w.flush()
	w.toPayload(header{itemPayload, e.Size}.append(nil))
	return e.Size, w.copy(w.payload, &w.payloadPos, content, e.Size)
}

func (w *Writer) copy(to io.Writer, pos *uint64, content io.Reader, size uint64) error {
	if w.err != nil || size == 0 {
		return w.err
	}
	if content == nil {
		return io.ErrUnexpectedEOF
	}
	n, err := io.CopyN(to, content, int64(min(size, 1<<62)))
	*pos += uint64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Link writes a hard link to the file whose name was written at position first, and whose path from the root
// is target, without a leading slash.
func (w *Writer) Link(name, target string, first uint64) error {
	if w.err != nil {
		return w.err
	}
	at := w.pos
	switch {
	case len(w.dirs) == 0:
		w.err = errNoDir
	case first >= at:
		w.err = fmt.Errorf("hard link %q at %d to the later position %d", name, at, first)
	case target == "" || len(target) > maxName:
		w.err = fmt.Errorf("hard link %q to a path of %d bytes", name, len(target))
	default:
		w.err = CheckName(name)
	}
	if w.err != nil {
		return w.err
	}
	w.filename(name)
	w.text(itemHardlink, binary.LittleEndian.AppendUint64(nil, at-first), target)
	w.flush()
	w.enter(hashName(name), at, 0)
	return w.err
}

// Leave ends the directory that was entered last.
func (w *Writer) Leave() error {
	if w.err == nil && len(w.dirs) < 2 {
		w.err = errNoDir
	}
	if w.err != nil {
		return w.err
	}
	dir := w.goodbye()
	w.enter(dir.hash, dir.name, 0)
	return w.err
}

// Close ends the archive, if all directories but the root were left. It closes none of its writers.
func (w *Writer) Close() error {
	if w.err == nil && len(w.dirs) != 1 {
		w.err = fmt.Errorf("%d directories were not left", len(w.dirs)-1)
	}
	if w.err != nil {
		return w.err
	}
	w.goodbye()
	if w.payload != nil {
		w.toPayload(header{itemPayloadTail, 0}.append(nil))
	}
	if w.err != nil {
		return w.err
	}
	w.err = errNoDir
	return nil
}
