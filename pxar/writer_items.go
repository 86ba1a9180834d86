package pxar

// filename writes the item before an entry.
func (w *Writer) filename(name string) { w.text(itemFilename, nil, name) }

// text writes an item with a text that is ended by NUL.
func (w *Writer) text(kind itemType, before []byte, text string) {
	w.buf = header{kind, uint64(len(before) + len(text) + 1)}.append(w.buf)
	w.buf = append(append(append(w.buf, before...), text...), 0)
}

// metadata writes what all entries have, in the order of the format.
func (w *Writer) metadata(m *Metadata) {
	w.buf = m.Stat.append(header{itemEntry, entrySize}.append(w.buf))
	for _, x := range m.Xattrs {
		w.buf = header{itemXattr, uint64(len(x.Name) + 1 + len(x.Value))}.append(w.buf)
		w.buf = append(append(append(w.buf, x.Name...), 0), x.Value...)
	}
	w.buf = m.ACL.append(w.buf)
	if m.FCaps != nil {
		w.buf = append(header{itemFCaps, uint64(len(m.FCaps))}.append(w.buf), m.FCaps...)
	}
	if m.QuotaProject != nil {
		w.buf = appendWords(w.buf, itemQuota, *m.QuotaProject)
	}
}

// flush writes what was put together.
func (w *Writer) flush() {
	if w.err == nil {
		_, w.err = w.w.Write(w.buf)
		w.pos += uint64(len(w.buf))
	}
	w.buf = w.buf[:0]
}

func (w *Writer) toPayload(b []byte) {
	if w.err == nil {
		_, w.err = w.payload.Write(b)
		w.payloadPos += uint64(len(b))
	}
}

// enter notes an entry that was written for the table of its directory.
func (w *Writer) enter(hash, at, elsewhere uint64) {
	dir := &w.dirs[len(w.dirs)-1]
	dir.slots = append(dir.slots, slot{hash, at, w.pos - at + elsewhere})
}

// goodbye writes the table of the last directory and closes it.
func (w *Writer) goodbye() openDir {
	dir := w.dirs[len(w.dirs)-1]
	w.dirs = w.dirs[:len(w.dirs)-1]
	table := w.pos
	size := uint64(len(dir.slots)+1) * slotSize
	w.buf = header{itemGoodbye, size}.append(w.buf)
	for _, s := range permute(dir.slots) {
		w.buf = slot{s.hash, table - s.offset, s.size}.append(w.buf)
	}
	w.buf = slot{tailMarker, table - dir.start, size + headerSize}.append(w.buf)
	w.flush()
	return dir
}
