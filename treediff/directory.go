package treediff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

const (
	// MaxEntries is how many entries of a directory are compared.
	MaxEntries = 1 << 20
	// MaxDepth is how many directories deep a tree is compared.
	MaxDepth = 4096
	maxPath  = 64 << 10
)

var errTooDeep = errors.New("the directories below are too deep, and not compared")

// listing is what is in a directory.
type listing struct {
	entries []*pxar.Entry // sorted
	whole   bool          // nothing is missing
}

// below compares what is in two entries; either may be nil, or no directory.
func (c *comparison) below(old, new *pxar.Entry, depth int) error {
	oldList, err := c.list(c.old, old, depth)
	if err != nil {
		return err
	}
	newList, err := c.list(c.new, new, depth)
	if err != nil {
		return err
	}
	return c.merge(oldList, newList, depth)
}

// list reads a directory. What is no directory is empty.
func (c *comparison) list(s side, e *pxar.Entry, depth int) (l listing, err error) {
	if e == nil || e.Kind != pxar.Directory {
		return listing{whole: true}, nil
	}
	if depth > MaxDepth || len(e.Path) > maxPath {
		return l, c.damaged(shortened(e.Path), errTooDeep)
	}
	dir, err := s.tree.Dir(e)
	if err == nil && dir.Len() > MaxEntries {
		err = fmt.Errorf("%d entries are too many to be compared, the limit is %d", dir.Len(), MaxEntries)
	}
	if err != nil {
		return l, c.damaged(e.Path, err)
	}
	var bad error // the first one says enough: where a chunk is missing, thousands of entries are
	for e, err := range dir.Entries() {
		switch {
		case err == nil:
			l.entries = append(l.entries, e)
		case c.ctx.Err() != nil:
			return l, context.Cause(c.ctx)
		case bad == nil:
			bad = err
		}
	}
	slices.SortStableFunc(l.entries, func(a, b *pxar.Entry) int { return cmpStrings(a.Name(), b.Name()) })
	if l.whole = bad == nil; !l.whole {
		err = c.damaged(e.Path, bad)
	}
	return l, err
}

func shortened(path string) string { return path[:min(len(path), 200)] + "…" }

func cmpStrings(a, b string) int { return cmp.Compare(a, b) }

// merge goes through two directories side by side.
func (c *comparison) merge(old, new listing, depth int) error {
	for len(old.entries)+len(new.entries) > 0 {
		var err error
		switch order := heads(old, new); {
		case order < 0:
			err = c.only(Removed, old.entries[0], new.whole, depth)
			old.entries = old.entries[1:]
		case order > 0:
			err = c.only(Added, new.entries[0], old.whole, depth)
			new.entries = new.entries[1:]
		default:
			err = c.pair(old.entries[0], new.entries[0], depth)
			old.entries, new.entries = old.entries[1:], new.entries[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// heads tells which of two directories has the smaller name first.
func heads(old, new listing) int {
	switch {
	case len(old.entries) == 0:
		return 1
	case len(new.entries) == 0:
		return -1
	}
	return strings.Compare(old.entries[0].Name(), new.entries[0].Name())
}

// only tells of an entry that is in one tree, and of what is in it. Where names of the other directory could not be read, it may be one of these.
func (c *comparison) only(kind Kind, e *pxar.Entry, otherWhole bool, depth int) error {
	if !otherWhole {
		return nil
	}
	change := Change{Kind: kind, Path: e.Path, New: e}
	old, new := (*pxar.Entry)(nil), e
	if kind == Removed {
		change.Old, change.New = e, nil
		old, new = e, nil
	}
	if c.wanted(e) {
		if kind == Added {
			c.report.Added++
		} else {
			c.report.Removed++
		}
		if err := c.visit(change); err != nil {
			return err
		}
	}
	return c.below(old, new, depth+1)
}
