package pxar

// Span is where an entry stands in its archive: from the end of its name up to the first byte that is behind it. Everything in a
// directory is inside of its span; of other kinds the end may be further back than it is. Both are 0 for an entry of a [Reader].
func (e *Entry) Span() (start, end uint64) {
	if e.end == 0 {
		return 0, 0
	}
	return e.start, e.end
}

// ContentPosition is where the content of a file begins: in the payload stream if it is [Entry.Split], else in the archive.
func (e *Entry) ContentPosition() uint64 {
	if e.Split {
		return e.PayloadOffset + headerSize
	}
	return e.content
}
