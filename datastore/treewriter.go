package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/pxar"
)

// TreeWriter writes one directory tree into a snapshot, see [SnapshotWriter.BeginTree]: [TreeWriter.Begin] once, then the
// entries of each directory, sorted by the bytes of their names, the directories among them
// entered by [TreeWriter.Add] and left with [TreeWriter.Leave], and at the end [TreeWriter.Finish]. Metadata that was
// handed over is not to be changed any more. The first error is final, and what the snapshot's writer can do then is to be closed.
// It is to be used by one goroutine.
type TreeWriter struct {
	writer *SnapshotWriter
	ctx    context.Context //nolint:containedctx // the tree is one operation in many calls
	end    func(*error)    // of what is bound to the locks
	name   backupinfo.ArchiveName
	opts   TreeOptions

	contents *stream // the .pxar, or the .ppxar
	entries  *stream // the .mpxar, nil for legacy
	out      *pxar.Writer
	path     []string          // the directories that are open
	links    map[string]uint64 // where the names stand that hard links may refer to
	previous *previousTree     // nil where nothing is reused
	queue    []treeStep        // what is put off, only where there is a previous tree
	queued   int               // how many of them are files

	stats TreeStats
	err   error // why nothing more can be written
}

var (
	errTreeDone  = errors.New("the directory tree is finished or closed already")
	errTreeBegin = errors.New("the root of a directory tree has to come first, and once")
)

// Begin takes the root. Once, first.
func (t *TreeWriter) Begin(root *pxar.Metadata) error {
	return t.do(func() error { return t.begin(root) })
}

func (t *TreeWriter) begin(root *pxar.Metadata) (err error) {
	if t.out != nil {
		return errTreeBegin
	}
	if t.entries != nil {
		t.out, err = pxar.NewWriter(t.entries, root, pxar.WriterOptions{Payload: t.contents, Prelude: t.opts.Prelude})
		return err
	}
	if err := t.writer.catalog.Begin(t.name.File()); err != nil {
		return err
	}
	t.out, err = pxar.NewWriter(t.contents, root, pxar.WriterOptions{})
	return err
}

// Add takes an entry without content: a directory, which is entered by it, a symbolic link, device, FIFO or socket.
func (t *TreeWriter) Add(name string, e *pxar.Entry) error {
	return t.step(func() error {
		if e.Kind == pxar.File || e.Kind == pxar.Hardlink {
			return fmt.Errorf("%q: a %s is not added without its content", name, e.Kind)
		}
		step := treeStep{kind: stepAdd, name: name, path: t.pathOf(name), entry: *e}
		if e.Kind == pxar.Directory {
			t.path = append(t.path, name)
			t.previous.enter(name)
		}
		return t.take(step)
	})
}

// AddFile takes a regular file. content gives size bytes, or an error that ends the tree; it is closed
// exactly once, perhaps much later, also after an error and when it was not read. linked says that
// [TreeWriter.Link] may refer to the file. A Read that hangs holds the call up, whatever becomes of the context.
func (t *TreeWriter) AddFile(name string, m *pxar.Metadata, size uint64, content io.ReadCloser, linked bool) error {
	step := treeStep{kind: stepFile, name: name, content: content, linked: linked}
	step.entry = pxar.Entry{Kind: pxar.File, Metadata: *m, Size: size}
	taken := false
	err := t.step(func() error {
		if content == nil {
			return fmt.Errorf("%q: a file without content", name)
		}
		taken = true
		step.path = t.pathOf(name)
		return t.takeFile(step)
	})
	if !taken {
		return step.failed(err)
	}
	return err
}

// Link takes a further name of a file that was given as linked; target is the path of
// the first one below the root, without a leading "/".
func (t *TreeWriter) Link(name, target string) error {
	return t.step(func() error {
		return t.take(treeStep{kind: stepLink, name: name, path: t.pathOf(name), entry: pxar.Entry{Kind: pxar.Hardlink, Target: target}})
	})
}

// Leave ends the directory that was entered last, which is not the root.
func (t *TreeWriter) Leave() error {
	return t.step(func() error {
		if len(t.path) == 0 {
			return errors.New("no directory is open but the root")
		}
		t.path = t.path[:len(t.path)-1]
		t.previous.leave()
		return t.take(treeStep{kind: stepLeave})
	})
}

// do makes one call, unless an earlier one has failed.
func (t *TreeWriter) do(call func() error) error {
	t.writer.mu.Lock()
	defer t.writer.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	err := context.Cause(t.ctx)
	if err == nil {
		err = call()
	}
	if err != nil {
		return t.giveUp(err)
	}
	return nil
}

// step makes a call that needs the root.
func (t *TreeWriter) step(call func() error) error {
	return t.do(func() error {
		if t.out == nil {
			return errTreeBegin
		}
		return call()
	})
}

// pathOf is the path below the root of an entry of the directory that is open.
func (t *TreeWriter) pathOf(name string) string {
	if len(t.path) == 0 {
		return name
	}
	return strings.Join(t.path, "/") + "/" + name
}

// Split tells whether the contents are stored beside the entries.
func (t *TreeWriter) Split() bool { return t.opts.ChangeDetection != ChangeDetectionLegacy }
