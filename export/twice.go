package export

import (
	"hash/maphash"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

// siblings finds the entries that come a second time in a directory. What unpacks such an export might follow the first
// one, a symbolic link, with the second one.
type siblings struct {
	seed    maphash.Seed
	levels  []siblingNames
	count   int    // of the names of all levels
	skipped string // a directory that is left out, with a slash behind it; "" for none
}

// siblingNames are the names so far of a directory that the walk is in. They are in order as a rule, so that one behind
// all others is new.
type siblingNames struct {
	greatest string
	seen     map[uint64]struct{} // hashes
}

// check is to be called with each entry below the top, in order.
func (s *siblings) check(top string, e *pxar.Entry) error {
	if s.skipped != "" && strings.HasPrefix(e.Path, s.skipped) {
		return leftOut("its directory is left out")
	}
	s.skipped = ""
	err := s.add(s.level(strings.Count(strings.TrimPrefix(e.Path, top), "/")), e.Name())
	if err != nil && e.Kind == pxar.Directory {
		s.skipped = e.Path + "/"
	}
	return err
}

// level goes to a depth, and forgets the deeper ones.
func (s *siblings) level(depth int) *siblingNames {
	for len(s.levels) <= depth {
		s.levels = append(s.levels, siblingNames{seen: map[uint64]struct{}{}})
	}
	for _, l := range s.levels[depth+1:] {
		s.count -= len(l.seen)
	}
	clear(s.levels[depth+1:])
	s.levels = s.levels[:depth+1]
	return &s.levels[depth]
}

func (s *siblings) add(l *siblingNames, name string) error {
	hash := maphash.String(s.seed, name)
	_, there := l.seen[hash]
	switch {
	case there:
		return leftOut("the archive has it twice")
	case name > l.greatest:
		l.greatest = name
	case s.count >= maxSeen:
		return leftOut("it is out of order, behind too many entries to tell whether the archive has it twice")
	}
	if s.count < maxSeen {
		s.count++
		l.seen[hash] = struct{}{}
	}
	return nil
}
