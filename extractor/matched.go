package extractor

import (
	"slices"

	"github.com/pbs-like/pbs-like/exclude"
	"github.com/pbs-like/pbs-like/pxar"
)

// matched tells which patterns have selected nothing yet: who asked for two things and got one has to be told. Only the walk uses it.
type matched struct {
	patterns exclude.List
	open     []int // places in patterns
}

func newMatched(patterns exclude.List) *matched {
	m := &matched{patterns: patterns}
	for i, p := range patterns {
		if p.Selects() {
			m.open = append(m.open, i)
		}
	}
	return m
}

// look takes note of what matches an entry, whether another pattern decides about it or not.
func (m *matched) look(e *pxar.Entry) {
	m.open = slices.DeleteFunc(m.open, func(i int) bool {
		return m.patterns[i:i+1].Match(e.Path, e.Kind == pxar.Directory) != exclude.None
	})
}

func (m *matched) missing() []int { return m.open }
