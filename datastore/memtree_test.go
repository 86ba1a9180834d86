package datastore_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
)

// memTree is a directory tree: files by their paths. Directories are there where there are files in them.
type memTree map[string]memFile

type memFile struct {
	data    []byte
	changed int64 // when, in seconds
	target  string
}

func directoryEntry() *pxar.Entry {
	return &pxar.Entry{Kind: pxar.Directory, Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: 0o40755}}}
}

// feed gives the tree to a sink. content makes what a file is read from.
func (m memTree) feed(sink treeSink, content func(name string, data []byte) io.ReadCloser) error {
	if err := sink.Begin(&directoryEntry().Metadata); err != nil {
		return err
	}
	in := "."
	for _, name := range slices.SortedFunc(maps.Keys(m), byParts) {
		for in != "." && path.Dir(name) != in && !strings.HasPrefix(name, in+"/") {
			in = path.Dir(in)
			if err := sink.Leave(); err != nil {
				return err
			}
		}
		for in != path.Dir(name) {
			next, _, _ := strings.Cut(strings.TrimPrefix(name, strings.TrimPrefix(in+"/", "./")), "/")
			in = path.Join(in, next)
			if err := sink.Add(next, directoryEntry()); err != nil {
				return err
			}
		}
		if err := m.entry(sink, name, content); err != nil {
			return err
		}
	}
	for ; in != "."; in = path.Dir(in) {
		if err := sink.Leave(); err != nil {
			return err
		}
	}
	return nil
}

func (m memTree) entry(sink treeSink, name string, content func(string, []byte) io.ReadCloser) error {
	f := m[name]
	if f.target != "" {
		return sink.Link(path.Base(name), f.target)
	}
	metadata := &pxar.Metadata{Stat: pxar.Stat{Mode: 0o100644, Seconds: f.changed}}
	return sink.AddFile(path.Base(name), metadata, uint64(len(f.data)), content(name, f.data), true)
}

// byParts orders paths as a walk does: a directory with what is in it comes where its name does.
func byParts(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }

// treeOf makes a tree of data: some files of different sizes, the last of them further names of the first ones.
func treeOf(data []byte, files int, changed int64) memTree {
	tree := memTree{}
	size := len(data) / files
	for i := range files {
		tree[fmt.Sprintf("dir-%d/file %d", i%3, i)] = memFile{data: data[i*size : (i+1)*size], changed: changed}
	}
	tree["empty"] = memFile{changed: changed}
	tree["link"] = memFile{target: "dir-0/file 0"}
	return tree
}

// addTree adds a tree to a snapshot.
func addTree(ctx context.Context, w *datastore.SnapshotWriter, name string, tree memTree, opts datastore.TreeOptions, files *fileContents) (datastore.TreeStats, error) {
	archive, err := backupinfo.ParseArchiveName(name)
	if err != nil {
		return datastore.TreeStats{}, err
	}
	t, err := w.BeginTree(ctx, archive, opts)
	if err != nil {
		return datastore.TreeStats{}, err
	}
	defer t.Close() // what counts is what Finish says
	if err := tree.feed(t, func(_ string, data []byte) io.ReadCloser { return files.of(bytes.NewReader(data)) }); err != nil {
		return datastore.TreeStats{}, err
	}
	return t.Finish()
}

// backupTree makes a snapshot of one tree.
func backupTree(tb testing.TB, ds *datastore.Datastore, group backupinfo.Group, tree memTree, opts datastore.TreeOptions, backup datastore.BackupOptions) (datastore.TreeStats, backupinfo.Snapshot) {
	tb.Helper()
	w, err := ds.Backup(tb.Context(), group, backup)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	files := &fileContents{}
	stats, err := addTree(tb.Context(), w, "root.pxar", tree, opts, files)
	if err != nil {
		tb.Fatal(err)
	}
	files.check(tb)
	info, err := w.Commit(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return stats, info.Snapshot
}

// read reads a tree back.
func readTree(tb testing.TB, ds *datastore.Datastore, snapshot backupinfo.Snapshot, opts datastore.ReadOptions) memTree {
	tb.Helper()
	r, err := ds.OpenSnapshot(tb.Context(), snapshot, opts)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	tree, err := r.OpenTree(tb.Context(), archiveName(tb, "root.pxar"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = tree.Close() }()
	root, err := tree.Root()
	if err != nil {
		tb.Fatal(err)
	}
	walk, err := tree.Walk(root)
	if err != nil {
		tb.Fatal(err)
	}
	found := memTree{}
	for {
		e, err := walk.Next()
		if err == io.EOF { //nolint:errorlint // it is given bare
			return found
		}
		if err != nil {
			tb.Fatal(err)
		}
		found.note(tb, tree, walk, e)
	}
}

// note takes the content by way of the entry, at random, and as the walk gives it.
func (m memTree) note(tb testing.TB, tree *datastore.Tree, walk *pxar.Reader, e *pxar.Entry) {
	tb.Helper()
	name := strings.TrimPrefix(e.Path, "/")
	switch e.Kind {
	case pxar.Hardlink:
		m[name] = memFile{target: e.Target}
		resolved, err := tree.Resolve(e)
		if err != nil || resolved.Kind != pxar.File {
			tb.Errorf("hard link %q leads to %v, %v", name, resolved, err)
		}
	case pxar.File:
		inOrder, err := io.ReadAll(walk)
		if err != nil {
			tb.Fatal(err)
		}
		at, err := tree.Content(e)
		if err != nil {
			tb.Fatal(err)
		}
		data, err := io.ReadAll(at)
		if err != nil || !bytes.Equal(data, inOrder) {
			tb.Errorf("content of %q differs between reading in order and at random: %v", name, err)
		}
		m[name] = memFile{data: data, changed: e.Seconds}
	default:
	}
}

func (m memTree) equal(other memTree) bool {
	return maps.EqualFunc(m, other, func(a, b memFile) bool {
		return a.target == b.target && a.changed == b.changed && bytes.Equal(a.data, b.data)
	})
}
