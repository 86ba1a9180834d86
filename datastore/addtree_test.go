package datastore_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/pxar"
)

// treeSink is what a walk over a directory writes to.
type treeSink interface {
	Begin(root *pxar.Metadata) error
	Add(name string, e *pxar.Entry) error
	AddFile(name string, m *pxar.Metadata, size uint64, content io.ReadCloser, linked bool) error
	Link(name, target string) error
	Leave() error
}

var _ treeSink = (*datastore.TreeWriter)(nil)

// fileContents counts what was given and closed.
type fileContents struct{ open, closed, twice, read, most int }

type fileContent struct {
	io.Reader

	all    *fileContents
	closed bool
	began  bool
}

func (c *fileContents) of(r io.Reader) io.ReadCloser {
	c.open++
	c.most = max(c.most, c.open-c.closed)
	return &fileContent{Reader: r, all: c}
}

func (c *fileContent) Read(p []byte) (int, error) {
	if c.closed {
		return 0, errors.New("read after it was closed")
	}
	if !c.began {
		c.began = true
		c.all.read++
	}
	return c.Reader.Read(p)
}

func (c *fileContent) Close() error {
	if c.closed {
		c.all.twice++
	}
	c.closed = true
	c.all.closed++
	return nil
}

func (c *fileContents) check(t testing.TB) {
	t.Helper()
	if c.open != c.closed || c.twice != 0 {
		t.Errorf("%d fileContents were given, %d closed, %d of them more than once", c.open, c.closed, c.twice)
	}
}

// replay writes an archive into a sink, entry by entry.
func replay(r *pxar.Reader, sink treeSink, files *fileContents) error {
	links := linkTargets{}
	depth := 0
	for {
		e, err := r.Next()
		if err == io.EOF { //nolint:errorlint // it is given bare
			break
		}
		if err != nil {
			return err
		}
		if e.Path == "/" {
			if err := sink.Begin(&e.Metadata); err != nil {
				return err
			}
			continue
		}
		for ; depth > strings.Count(e.Path, "/")-1; depth-- {
			if err := sink.Leave(); err != nil {
				return err
			}
		}
		if e.Kind == pxar.Directory {
			depth++
		}
		if err := links.replay(r, e, sink, files); err != nil {
			return err
		}
	}
	for ; depth > 0; depth-- {
		if err := sink.Leave(); err != nil {
			return err
		}
	}
	return nil
}

type linkTargets map[string]bool

func (l linkTargets) replay(r *pxar.Reader, e *pxar.Entry, sink treeSink, files *fileContents) error {
	switch e.Kind {
	case pxar.File:
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return sink.AddFile(e.Name(), &e.Metadata, e.Size, files.of(bytes.NewReader(data)), true)
	case pxar.Hardlink:
		return sink.Link(e.Name(), e.Target)
	}
	return sink.Add(e.Name(), e)
}

func goldenTrees(t testing.TB) (names []string) {
	t.Helper()
	found, err := filepath.Glob(testds.Testdata(t, "../catalog/testdata/*.pcat1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		name = strings.TrimSuffix(path.Base(name), ".pcat1")
		if _, err := os.Stat(testds.Testdata(t, "../pxar/testdata/v1/"+name+".pxar.zst")); err == nil {
			names = append(names, name)
		}
	}
	if len(names) < 8 {
		t.Fatalf("only %v", names)
	}
	return names
}

// TestALegacyTreeIsTheOneThatTheOriginalWrites feeds every golden archive's own entries.
func TestALegacyTreeIsTheOneThatTheOriginalWrites(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	for _, name := range goldenTrees(t) {
		want := goldenfile.Read(t, "pxar", "v1/"+name+".pxar.zst")
		in, err := pxar.NewReader(bytes.NewReader(want), pxar.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := ds.Backup(t.Context(), store.Group("host/"+name), datastore.BackupOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := w.BeginTree(t.Context(), archiveName(t, "root.pxar"), datastore.TreeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		files := &fileContents{}
		if err := replay(in, tree, files); err != nil {
			t.Fatal(name, err)
		}
		stats, err := tree.Finish()
		if err != nil {
			t.Fatal(name, err)
		}
		info, err := w.Commit(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		files.check(t)
		if stats.Files != files.open || stats.ReusedFiles != 0 || len(stats.Archives) != 1 {
			t.Errorf("%s: stats %+v of %d files", name, stats, files.open)
		}
		if got := store.Restore(info.Snapshot, "root.pxar"); !bytes.Equal(got, want) {
			t.Errorf("%s: the archive has %d bytes, and differs from the original's of %d", name, len(got), len(want))
		}
		catalog, err := os.ReadFile(testds.Testdata(t, "../catalog/testdata/"+name+".pcat1"))
		if err != nil {
			t.Fatal(err)
		}
		if got := store.Restore(info.Snapshot, "catalog.pcat1"); !bytes.Equal(got, catalog) {
			t.Errorf("%s: the catalog differs from the original's", name)
		}
	}
}

func namesOf(files []datastore.FileInfo) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}
