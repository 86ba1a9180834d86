package treefind

import "bytes"

// scan looks for what matches in a list. It gives false when yield does.
func (l *nameList) scan(m *Matcher, yield func(item) bool) bool {
	s := scanner{list: l, matcher: m, yield: yield}
	if m.whole && !m.fold {
		return s.literal([]byte("/" + m.literal + "/"))
	}
	return s.each()
}

type scanner struct {
	list    *nameList
	matcher *Matcher
	yield   func(item) bool
}

// literal looks for a name by its text, which is far quicker than to look at each name.
func (s *scanner) literal(text []byte) bool {
	names := s.list.names
	number, at := 0, 0 // of the slash that names[at] is
	for {
		found := bytes.Index(names[at:], text)
		if found < 0 {
			return true
		}
		number += bytes.Count(names[at:at+found], []byte("/"))
		at += found
		if !s.entry(number, string(text[1:len(text)-1])) {
			return false
		}
		number, at = number+1, at+len(text)-1
	}
}

func (s *scanner) each() bool {
	rest := s.list.names[1:]
	for number := range s.list.count() {
		end := bytes.IndexByte(rest, '/')
		name := string(rest[:end])
		rest = rest[end+1:]
		if s.matcher.mayMatch(name) && !s.entry(number, name) {
			return false
		}
	}
	return true
}

func (s *scanner) entry(number int, name string) bool {
	l := s.list
	if parent := l.parent(number); parent != noParent && s.matcher.wants(l.kind(number)) {
		i := item{path: l.path(number), kind: l.kind(number)}
		if s.matcher.matches(name, pathInArchive(i.path)) {
			i.size, i.modTime = l.sizes(number)
			return s.yield(i)
		}
	}
	return true
}

// path puts a path together, from its end.
func (l *nameList) path(number int) string {
	length := 0
	for at := uint32(number); at != noParent; at = l.parent(int(at)) {
		length += len(l.text(int(at)))
	}
	path := make([]byte, length)
	for at := uint32(number); at != noParent; at = l.parent(int(at)) {
		text := l.text(int(at))
		length -= len(text)
		copy(path[length:], text)
	}
	return string(path)
}

// text is a name with the slash before it.
func (l *nameList) text(i int) []byte {
	end := len(l.names) - 1
	if i+1 < l.count() {
		end = l.nameAt(i + 1)
	}
	return l.names[l.nameAt(i):end]
}
