package pxar

import "io"

// noPayload is the payload of an archive that was given without.
type noPayload struct{}

func (noPayload) reach(*Entry) error             { return nil }
func (noPayload) open(*Entry) (io.Reader, error) { return nil, ErrNoPayload }

// payloadStream is a payload that is read forward only. Between the contents there
// may be anything: chunks that were reused bring more along than was wanted.
type payloadStream struct {
	src *source
}

func newPayloadStream(r io.Reader) (*payloadStream, error) {
	src := newSource(r, 0)
	h, err := src.header("the payload's start marker")
	if err != nil {
		return nil, err
	}
	if h.kind != itemPayloadStart {
		return nil, corruptf("the payload begins with %s", h.kind)
	}
	return &payloadStream{src}, nil
}

// reach goes to the header before the entry's content.
func (p *payloadStream) reach(e *Entry) error {
	if e.PayloadOffset < p.src.pos {
		return corruptf("the content of %q is at %d of the payload, which was read up to %d", e.Path, e.PayloadOffset, p.src.pos)
	}
	return p.src.skip(e.PayloadOffset-p.src.pos, "the payload")
}

func (p *payloadStream) open(e *Entry) (io.Reader, error) {
	h, err := p.src.header("the payload")
	if err != nil {
		return nil, err
	}
	return payloadReader{p.src, e.Size}, checkPayload(h, e)
}

// checkPayload compares what the archive and the payload say of each other.
func checkPayload(h header, e *Entry) error {
	if h.kind != itemPayload {
		return corruptf("the payload has %s at %d, where the content of %q has to be", h.kind, e.PayloadOffset, e.Path)
	}
	if h.size != e.Size {
		return corruptf("the content of %q has %d bytes in the payload and %d in the archive", e.Path, h.size, e.Size)
	}
	return nil
}

type payloadReader struct {
	src  *source
	size uint64
}

// Read is bounded by the reader of the archive, which knows how much is left.
func (r payloadReader) Read(b []byte) (int, error) { return r.src.read(b, r.size) }
