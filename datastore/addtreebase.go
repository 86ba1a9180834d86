package datastore

import (
	"errors"
	"fmt"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/reuse"
)

// previousTree is the tree of the same name in the base, while a new one is written.
type previousTree struct {
	entries, payload *Archive
	planner          *reuse.Planner
	archive          *pxar.Archive
	// dirs are, for the root and each directory that is open in the new tree, the one of the same path in this one, nil where there is none.
	dirs []*pxar.Dir
	// failed is called when something can't be read. Then no more is looked for.
	failed func(error)
}

var errNoPrevious = errors.New("the base has no such tree")

// openPrevious opens the base's tree. Where that is not to be had all files are read, with a notice but
// where there is nothing strange about it.
func (t *TreeWriter) openPrevious(entries, payload backupinfo.ArchiveName) {
	previous := &previousTree{}
	err := t.writer.openPrevious(t, previous, entries, payload)
	if err == nil {
		t.previous = previous
		return
	}
	_ = previous.Close()
	if !errors.Is(err, errNoPrevious) {
		t.notice("all files are read, for the base's tree can't be compared with", err)
	}
}

func (w *SnapshotWriter) openPrevious(t *TreeWriter, p *previousTree, entries, payload backupinfo.ArchiveName) (err error) {
	if w.base == nil {
		return errNoPrevious
	}
	r, err := w.baseReader(entries, payload)
	if err != nil {
		return err
	}
	if p.entries, err = r.OpenArchive(t.ctx, entries); err != nil {
		return err
	}
	if p.payload, err = r.OpenArchive(t.ctx, payload); err != nil {
		return err
	}
	if err := errors.Join(p.entries.damage, p.payload.damage); err != nil {
		return err
	}
	if p.archive, err = pxar.Open(newReadCache(untilDone{t.ctx, p.entries}, p.entries.Size()), int64(p.entries.Size()), pxar.OpenOptions{}); err != nil {
		return err
	}
	if p.archive.Version() != 2 {
		return fmt.Errorf("archive %q is not one of version 2: %w", entries.Display(), ErrCorrupt)
	}
	p.planner = reuse.New(p.payload.index, reuse.Options{MaxPadding: t.opts.MaxPadding, Exists: w.keep})
	p.failed = func(err error) { t.notice("the base's tree can't be read any further, and files are read again", err) }
	return p.enterRoot()
}

// keep makes sure that a chunk of the base is there and keeps it from being collected. Those of a finished
// snapshot need not be proven, see [known].
func (w *SnapshotWriter) keep(c index.Chunk) (bool, error) { return w.chunks.Reuse(c.Digest) }

// baseReader reads the base, under the lock that the backup has on it, if both archives are there and
// protected as those of this backup are: what the base says of its contents is taken for true, unread.
func (w *SnapshotWriter) baseReader(names ...backupinfo.ArchiveName) (*SnapshotReader, error) {
	for _, name := range names {
		file, there := w.base.manifest.File(name.File())
		if !there {
			return nil, errNoPrevious
		}
		if file.CryptMode != w.crypt.mode {
			return nil, fmt.Errorf("%q is protected in another way (%s, not %s)", name.Display(), file.CryptMode, w.crypt.mode)
		}
	}
	signature, err := authenticate(w.base.manifest, w.crypt.key)
	if err != nil {
		return nil, err
	}
	if w.crypt.key != nil && signature != SignatureOK {
		return nil, errors.New("it is not signed with the key of this backup")
	}
	return &SnapshotReader{
		store: w.store, chunks: w.chunks, dir: w.base.guard.File(), snapshot: w.base.snapshot,
		manifest: w.base.manifest, key: w.crypt.dataKey(), signature: signature,
	}, nil
}

func (p *previousTree) enterRoot() error {
	root, err := p.archive.Root()
	if err != nil {
		return err
	}
	dir, err := p.archive.Dir(root)
	p.dirs = append(p.dirs, dir)
	return err
}

// enter goes along into a directory of the new tree. Nil does nothing.
func (p *previousTree) enter(name string) {
	if p == nil {
		return
	}
	var dir *pxar.Dir
	if e := p.lookup(name); e != nil && e.Kind == pxar.Directory {
		var err error
		if dir, err = p.archive.Dir(e); err != nil {
			p.fail(err)
			dir = nil
		}
	}
	p.dirs = append(p.dirs, dir)
}

func (p *previousTree) leave() {
	if p != nil {
		p.dirs = p.dirs[:len(p.dirs)-1]
	}
}

// lookup finds an entry of the directory that is open, or gives nil.
func (p *previousTree) lookup(name string) *pxar.Entry {
	dir := p.dirs[len(p.dirs)-1]
	if dir == nil {
		return nil
	}
	e, err := dir.Lookup(name)
	switch {
	case err == nil:
		return e
	case !errors.Is(err, pxar.ErrNotFound):
		p.fail(err)
	}
	return nil
}

// fail gives up what can't be read: whatever is not found is read again, which is never wrong.
func (p *previousTree) fail(err error) {
	p.failed(err)
	clear(p.dirs)
}

// Close frees the archives. Nil, and a second call, does nothing.
func (p *previousTree) Close() error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, c := range []*Archive{p.entries, p.payload} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
