package pxar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// maxMetadata bounds what is kept of one entry's metadata, with itemCost for each item
// besides its bytes. The kernel's own limits on attributes are far below it.
const (
	maxMetadata = 16 << 20
	itemCost    = 64
)

// entry reads an entry from behind its name up to its content or its first child, and
// gives e what it is. Where the source may end with an entry that has nothing behind it, ends is set.
func (s *source) entry(e *Entry, ends bool) error {
	e.start = s.pos
	h, err := s.header("an entry")
	if err != nil {
		return err
	}
	switch h.kind {
	case itemHardlink:
		return s.hardlink(e, h)
	case itemEntry, itemEntryV1:
	default:
		return corruptf("%s item at %d, where an entry has to begin", h.kind, e.start)
	}
	if err := s.stat(e, h); err != nil {
		return err
	}
	for budget := uint64(maxMetadata); ; {
		h, err := s.peek()
		switch {
		case ends && errors.Is(err, io.EOF), err == nil && (h.kind == itemFilename || h.kind == itemGoodbye):
			e.Kind = kindOfMode(e.Mode)
			return h.checkName()
		case err != nil:
			return cutShort(err, "an entry")
		}
		if _, err := s.full(headerSize, "an entry"); err != nil {
			return err
		}
		if last, err := s.last(e, h); last || err != nil {
			return err
		}
		if err := s.attribute(e, h); err != nil {
			return err
		}
		if h.size+itemCost > budget {
			return corruptf("entry with more than %d bytes of metadata", maxMetadata)
		}
		budget -= h.size + itemCost
	}
}

// stat reads what stands first. Its size says little: the original reads as much as it needs.
func (s *source) stat(e *Entry, h header) error {
	if h.kind == itemEntryV1 {
		b, err := s.full(entryV1Size, h.kind.String())
		if err == nil {
			e.Stat = parseStatV1(b)
		}
		return err
	}
	if err := h.check(); err != nil {
		return err
	}
	b, err := s.full(entrySize, h.kind.String())
	if err == nil {
		e.Stat = parseStat(b)
	}
	return err
}

// kindOfMode is what an entry is that no item says more about.
func kindOfMode(mode uint64) Kind {
	switch mode & modeType {
	case modeFIFO:
		return FIFO
	case modeSocket:
		return Socket
	}
	return Directory
}

// last reads an item that ends an entry and decides what it is.
func (s *source) last(e *Entry, h header) (last bool, err error) {
	var b []byte
	switch h.kind {
	case itemPayload:
		e.Kind, e.Size, e.content = File, h.size, s.pos
	case itemPayloadRef:
		if err = h.check(); err != nil {
			return true, err
		}
		if b, err = s.full(16, h.kind.String()); err == nil {
			e.Kind, e.Split = File, true
			e.PayloadOffset, e.Size = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		}
	case itemSymlink:
		if b, err = s.content(h); err == nil {
			e.Kind, e.Target = Symlink, withoutLast(b)
		}
	case itemDevice:
		if b, err = s.content(h); err == nil {
			e.Kind = Device
			e.Major, e.Minor = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		}
	default:
		return false, nil
	}
	return true, err
}

// withoutLast takes the last byte for the NUL that ends a text, as the original does.
func withoutLast(b []byte) string { return string(b[:max(0, len(b)-1)]) }

func (s *source) hardlink(e *Entry, h header) error {
	b, err := s.content(h)
	if err != nil {
		return err
	}
	if len(b) <= 8 {
		return corruptf("%s item of %d bytes", h.kind, len(b))
	}
	e.Kind, e.LinkOffset, e.Target = Hardlink, binary.LittleEndian.Uint64(b), withoutLast(b[8:])
	return nil
}

// attribute reads what may stand between an entry's stat and its last item, in any order.
func (s *source) attribute(e *Entry, h header) error {
	if _, known := itemName(h.kind); !known {
		return corruptf("%s in an entry", h.kind)
	}
	switch h.kind {
	case itemXattr, itemFCaps, itemQuota, itemACLUser, itemACLGroup, itemACLGroupObj, itemACLDefault, itemDefaultUser, itemDefaultGroup:
	default:
		return corruptf("%s item inside of an entry", h.kind)
	}
	b, err := s.content(h)
	if err != nil {
		return err
	}
	if known, err := e.ACL.add(h.kind, b); known || err != nil {
		return err
	}
	switch {
	case h.kind == itemXattr:
		name, value, ok := bytes.Cut(b, []byte{0})
		if !ok {
			return corruptf("%s item without a separator", h.kind)
		}
		e.Xattrs = append(e.Xattrs, Xattr{string(name), bytes.Clone(value)})
	case h.kind == itemFCaps && e.FCaps == nil:
		e.FCaps = append([]byte{}, b...)
	case h.kind == itemQuota && e.QuotaProject == nil:
		project := binary.LittleEndian.Uint64(b)
		e.QuotaProject = &project
	default:
		return corruptf("a second %s item", h.kind)
	}
	return nil
}

// filename reads a name whose header was read.
func (s *source) filename(h header) ([]byte, error) {
	b, err := s.content(h)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 || b[len(b)-1] != 0 {
		return nil, corruptf("name without its end")
	}
	b = b[:len(b)-1]
	if err := CheckName(string(b)); err != nil {
		return nil, err
	}
	return b, nil
}

// CheckName tells whether an archive may have an entry of that name, which is one
// part of a path. A NUL is let through, as the original's reader does; no file system takes it.
func CheckName(name string) error {
	switch {
	case name == "":
		return corruptf("empty name")
	case name == "." || name == "..":
		return corruptf("name %q", name)
	case len(name) > maxName:
		return corruptf("name of %d bytes", len(name))
	case slices.Contains([]byte(name), '/'):
		return corruptf("name %q has a slash", name)
	}
	return nil
}
