package treediff

import (
	"context"
	"errors"
	"fmt"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
)

// Options are how trees are compared.
type Options struct {
	// Wanted tells which paths are shown; nil is all. What is below a path that is not wanted is looked at all the same.
	Wanted func(e *pxar.Entry) bool
	// Content has contents read and compared where the digests of chunks do not tell whether they are the same.
	Content bool
	// Damaged is called with what can't be read, and the path that it is about. The comparison goes on. Nil ends it there.
	Damaged func(path string, err error) error
}

// Report is what a comparison came to. What Options.Wanted leaves out is not counted.
type Report struct {
	Added, Removed, Modified int
	// NotCompared is how many files have contents of the same size that were not compared. Most of them are no change.
	NotCompared int
	// Damaged is how often something could not be read.
	Damaged int
}

// Equal tells that both trees are known to be the same.
func (r Report) Equal() bool { return r == Report{} }

// Compare compares two trees, and gives each change to visit, in the order of the paths: a directory before what is in it. An error is
// one of visit, of ctx, or one after which there is nothing to go on with; what Options.Damaged was told is none.
func Compare(ctx context.Context, old, new *datastore.Tree, opts Options, visit func(Change) error) (Report, error) {
	c := comparison{ctx: ctx, old: side{tree: old}, new: side{tree: new}, opts: opts, visit: visit}
	oldRoot, err := old.Root()
	if err != nil {
		return c.report, err
	}
	newRoot, err := new.Root()
	if err != nil {
		return c.report, err
	}
	err = c.pair(oldRoot, newRoot, 0)
	return c.report, err
}

// comparison is one run.
type comparison struct {
	ctx      context.Context //nolint:containedctx // for one call
	old, new side
	opts     Options
	visit    func(Change) error
	report   Report
}

// side is one of the two trees.
type side struct {
	tree *datastore.Tree
}

// damaged names what can't be read, unless all has to end.
func (c *comparison) damaged(path string, err error) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	c.report.Damaged++
	if c.opts.Damaged == nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return c.opts.Damaged(path, err)
}

func (c *comparison) wanted(e *pxar.Entry) bool { return c.opts.Wanted == nil || c.opts.Wanted(e) }

// pair compares two entries of the same path.
func (c *comparison) pair(old, new *pxar.Entry, depth int) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	if old.Kind == pxar.Directory && new.Kind == pxar.Directory {
		like, err := c.old.tree.CompareDirectory(c.ctx, old, c.new.tree, new)
		if err != nil {
			return c.damaged(new.Path, err)
		}
		if like == datastore.Same {
			return nil
		}
	}
	if err := c.modified(old, new); err != nil {
		return err
	}
	return c.below(old, new, depth+1)
}

// modified tells what is not the same of two entries.
func (c *comparison) modified(old, new *pxar.Entry) error {
	if !c.wanted(old) && !c.wanted(new) {
		return nil
	}
	change, err := c.change(old, new)
	if err != nil {
		if err := c.damaged(new.Path, err); err != nil {
			return err
		}
	}
	if change.Content == NotCompared {
		c.report.NotCompared++
	}
	if len(change.Fields) == 0 {
		return nil
	}
	c.report.Modified++
	return c.visit(change)
}

// change compares two entries. What it gives besides an error is all that is known.
func (c *comparison) change(old, new *pxar.Entry) (Change, error) {
	change := Change{Kind: Modified, Path: new.Path, Old: old, New: new}
	a, errOld := c.old.resolve(old)
	b, errNew := c.new.resolve(new)
	if (old.Kind == pxar.Hardlink) != (new.Kind == pxar.Hardlink) || old.Kind == pxar.Hardlink && old.Target != new.Target {
		change.Fields = append(change.Fields, Link)
	}
	if err := errors.Join(errOld, errNew); err != nil {
		return change, err
	}
	if a.Kind != b.Kind || a.Kind == pxar.Device && a.IsBlock() != b.IsBlock() {
		change.Fields = []Field{Type}
		return change, nil
	}
	if old.Kind == pxar.Hardlink && new.Kind == pxar.Hardlink && old.Target == new.Target {
		return change, nil // what has changed is told of the file's first name
	}
	change.Fields = append(change.Fields, metadataFields(&a.Metadata, &b.Metadata)...)
	switch {
	case a.Target != b.Target:
		change.Fields = append(change.Fields, Target)
	case a.Major != b.Major || a.Minor != b.Minor:
		change.Fields = append(change.Fields, Device)
	case a.Kind == pxar.File:
		return change, c.contents(&change, a, b)
	}
	return change, nil
}

// resolve gives the file behind a hard link.
func (s side) resolve(e *pxar.Entry) (*pxar.Entry, error) {
	if e.Kind != pxar.Hardlink {
		return e, nil
	}
	return s.tree.Resolve(e)
}
