package extractor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/exclude"
	"github.com/pbs-like/pbs-like/pxar"
)

// Bounds for hostile archives; an honest one is far from them.
const (
	// maxPath bounds how deep a tree is.
	maxPath = 64 << 10
	// maxHeld bounds the metadata of the directories that one is in.
	maxHeld = 64 << 20
)

// excludeList comes last in the root of an archive, whatever its name says.
const excludeList = "/.pxarexclude-cli"

// descend restores the target directory and everything below it.
func (r *run) descend(top *pxar.Entry, made bool) {
	root := &directory{run: r, entry: top, selected: len(r.opts.Patterns) == 0, fresh: made, fd: -1}
	fd, err := unix.Dup(int(r.target.Fd()))
	if err == nil {
		unix.CloseOnExec(fd)
		err = root.opened(fd)
		r.dev = root.dev
	}
	if err != nil {
		r.cancel(err)
		return
	}
	dir, err := r.archive.Dir(top)
	if err != nil {
		r.failed(top.Path, err, true)
	} else {
		r.directory(dir, root, "", 0)
	}
	_ = root.leave() // nothing is above it
}

// directory restores what is in a directory. Path is that of patterns, held the size of the metadata that is kept on the way.
func (r *run) directory(dir *pxar.Dir, d *directory, path string, held int) {
	if d.selected {
		r.everything(dir, d, held)
		return
	}
	names, anything := r.opts.Patterns.Below(path)
	if anything {
		r.everything(dir, d, held)
		return
	}
	for _, name := range names {
		e, err := lookup(dir, name)
		switch {
		case r.ctx.Err() != nil:
			return
		case err != nil:
			r.failed(path+"/"+name, err, true)
		case e != nil:
			r.entry(d, e, held)
		}
	}
}

// lookup finds one name, and nil if there is none.
func lookup(dir *pxar.Dir, name string) (*pxar.Entry, error) {
	if pxar.CheckName(name) != nil {
		return nil, nil //nolint:nilerr // no archive has it
	}
	e, err := dir.Lookup(name)
	if errors.Is(err, pxar.ErrNotFound) {
		return nil, nil
	}
	return e, err
}

func (r *run) everything(dir *pxar.Dir, d *directory, held int) {
	for e, err := range dir.Entries() {
		if r.ctx.Err() != nil {
			return
		}
		if err != nil {
			r.failed(d.entry.Path, err, true)
			continue
		}
		r.entry(d, e, held)
	}
}

// entry restores an entry of a directory, and what is below it.
func (r *run) entry(d *directory, e *pxar.Entry, held int) {
	r.progress()
	if err := d.admit(e); err != nil {
		r.entryFailed(e, err)
		return
	}
	selected := d.selected
	if len(r.opts.Patterns) > 0 {
		r.matched.look(e)
		switch r.opts.Patterns.Match(e.Path, e.Kind == pxar.Directory) {
		case exclude.Include:
			selected = true
		case exclude.Exclude:
			selected = false
		case exclude.None:
		}
	}
	if e.Kind == pxar.Directory {
		r.child(d, e, selected, held+sizeOf(e))
	} else if selected {
		r.leaf(d, e)
	}
}

// sizeOf is about what the metadata of an entry takes.
func sizeOf(e *pxar.Entry) int {
	size := len(e.Path) + len(e.FCaps) + 16*(len(e.ACL.Users)+len(e.ACL.Groups)+len(e.ACL.DefaultUsers)+len(e.ACL.DefaultGroups))
	for _, x := range e.Xattrs {
		size += len(x.Name) + len(x.Value) + 40
	}
	return size
}

func (r *run) child(parent *directory, e *pxar.Entry, selected bool, held int) {
	child := &directory{run: r, parent: parent, entry: e, selected: selected, fd: -1, depth: parent.depth + 1}
	if selected {
		if err := child.make(); err != nil {
			r.entryFailed(e, err)
			return
		}
	}
	dir, err := r.archive.Dir(e)
	switch {
	case err == nil && len(e.Path) > maxPath:
		err = fmt.Errorf("%w: a path of more than %d bytes", pxar.ErrCorrupt, maxPath)
	case err == nil && held > maxHeld:
		err = fmt.Errorf("%w: directories on the way to it with more than %d bytes of metadata", pxar.ErrCorrupt, maxHeld)
	}
	if err != nil {
		r.failed(e.Path, err, true)
	} else {
		r.directory(dir, child, e.Path, held)
	}
	if err := child.leave(); err != nil {
		r.cancel(err)
	}
}

// admit refuses names that no file can have, and those that the archive has twice. The names of a directory are in order, so that
// only what comes out of order can be a second one.
func (d *directory) admit(e *pxar.Entry) error {
	name := e.Name()
	switch {
	case strings.Contains(name, "\x00"):
		return fmt.Errorf("%w: it has a NUL", ErrName)
	case name == d.greatest || e.Path == excludeList && d.ended:
		return fmt.Errorf("%w: the archive has it twice", ErrName)
	}
	d.ended = d.ended || e.Path == excludeList
	if name > d.greatest && e.Path != excludeList {
		d.greatest = name
	}
	return d.reserve(name)
}

// isOutOfOrder tells of an entry that may be a second one of its name.
func (d *directory) isOutOfOrder(e *pxar.Entry) bool {
	return e.Name() < d.greatest && e.Path != excludeList
}

// fresher waits, before an entry that may be a second one, until the first one has its name.
func (d *directory) fresher(e *pxar.Entry) error {
	if d.isOutOfOrder(e) {
		d.run.idle()
	}
	return context.Cause(d.run.ctx)
}

// leaf restores an entry that is no directory.
func (r *run) leaf(d *directory, e *pxar.Entry) {
	if r.unwanted(e) {
		r.change(func(s *Stats) { s.Skipped++ })
		return
	}
	err := d.make()
	if err == nil {
		err = d.fresher(e)
	}
	if err == nil && e.Kind == pxar.Hardlink {
		err = r.link(d, e)
	} else if err == nil {
		err = r.restore(d, e)
	}
	if err != nil {
		r.entryFailed(e, err)
	}
}

func (r *run) unwanted(e *pxar.Entry) bool {
	return e.Kind == pxar.Device && r.opts.NoDeviceNodes || e.Kind == pxar.FIFO && r.opts.NoFIFOs || e.Kind == pxar.Socket && r.opts.NoSockets
}

// job says what is known of an entry while the walk is at it.
func (d *directory) job(e *pxar.Entry) job {
	return job{d: d, e: e, late: d.isOutOfOrder(e), temporary: d.temporary(e)}
}

// restore hands an entry to the workers, unless it is there.
func (r *run) restore(d *directory, e *pxar.Entry) error {
	j := d.job(e)
	if !d.fresh {
		done, err := r.isDone(j)
		if done || err != nil {
			if e.Kind == pxar.File { // links may lead to it
				r.files.begin(e.Position(), e.Path)
				r.files.end(e.Position())
			}
			return err
		}
	}
	if e.Kind != pxar.File {
		return r.give(j)
	}
	r.files.begin(e.Position(), e.Path)
	return r.content(j)
}
