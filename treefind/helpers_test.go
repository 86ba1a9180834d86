package treefind_test

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/treefind"
)

// A tree is paths, in the order of a walk. "d/" is a directory, "l@" a symbolic link, and "f=12" a file of 12 bytes.
type tree []string

func (t tree) each(visit func(dir, name string, kind byte, size uint64)) {
	for _, line := range t {
		kind, size := byte('f'), uint64(0)
		text, number, sized := strings.Cut(line, "=")
		switch {
		case sized:
			_, _ = fmt.Sscan(number, &size)
		case strings.HasSuffix(text, "/"):
			kind, text = 'd', text[:len(text)-1]
		case strings.HasSuffix(text, "@"):
			kind, text = 'l', text[:len(text)-1]
		}
		visit(path.Dir("/"+text), path.Base(text), kind, size)
	}
}

// modTime is that of a file of this size in a tree.
func modTime(size uint64) int64 { return 1_700_000_000 + int64(size) }

// archive makes an archive of a tree, in one or, with a payload, in two parts.
func (t tree) archive(tb testing.TB, split bool) (archive, payload []byte) {
	tb.Helper()
	var out, contents bytes.Buffer
	opts := pxar.WriterOptions{}
	if split {
		opts.Payload = &contents
	}
	root := &pxar.Metadata{Stat: pxar.Stat{Mode: 0o40755}}
	w, err := pxar.NewWriter(&out, root, opts)
	if err != nil {
		tb.Fatal(err)
	}
	open := []string{"/"}
	t.each(func(dir, name string, kind byte, size uint64) {
		for open[len(open)-1] != dir {
			open = open[:len(open)-1]
			err = errors.Join(err, w.Leave())
		}
		e := &pxar.Entry{Kind: pxar.File, Size: size}
		e.Mode, e.Seconds = 0o100644, modTime(size)
		switch kind {
		case 'd':
			e.Kind, e.Mode = pxar.Directory, 0o40755
			open = append(open, path.Join(dir, name))
		case 'l':
			e.Kind, e.Mode, e.Target = pxar.Symlink, 0o120777, "target"
		}
		_, failed := w.Add(name, e, bytes.NewReader(make([]byte, size)))
		err = errors.Join(err, failed)
	})
	for range open[1:] {
		err = errors.Join(err, w.Leave())
	}
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes(), contents.Bytes()
}

// catalog makes the catalog of a tree that is in root.pxar.
func (t tree) catalog(tb testing.TB) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := catalog.NewWriter(&out)
	if err != nil {
		tb.Fatal(err)
	}
	err = w.Begin("root.pxar.didx")
	open := []string{"/"}
	t.each(func(dir, name string, kind byte, size uint64) {
		for open[len(open)-1] != dir {
			open = open[:len(open)-1]
			err = errors.Join(err, w.End())
		}
		switch kind {
		case 'd':
			open = append(open, path.Join(dir, name))
			err = errors.Join(err, w.Begin(name))
		case 'l':
			err = errors.Join(err, w.Add(catalog.Entry{Kind: catalog.Symlink, Name: name}))
		default:
			err = errors.Join(err, w.Add(catalog.Entry{Kind: catalog.File, Name: name, Size: size, ModTime: modTime(size)}))
		}
	})
	for range open {
		err = errors.Join(err, w.End())
	}
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// unsplit are the streams of a snapshot with the tree in one archive and a catalog; split those of one in two archives.
func (t tree) unsplit(tb testing.TB) map[string][]byte {
	tb.Helper()
	archive, _ := t.archive(tb, false)
	return map[string][]byte{"root.pxar": archive, "catalog.pcat1": t.catalog(tb)}
}

func (t tree) split(tb testing.TB) map[string][]byte {
	tb.Helper()
	archive, payload := t.archive(tb, true)
	return map[string][]byte{"root.mpxar": archive, "root.ppxar": payload}
}

func archiveName(tb testing.TB, name string) backupinfo.ArchiveName {
	tb.Helper()
	parsed, err := backupinfo.ParseArchiveName(name)
	if err != nil {
		tb.Fatal(err)
	}
	return parsed
}

// backup makes a snapshot of streams. Times are small numbers.
func backup(tb testing.TB, store *testds.Store, group string, time backupinfo.Time, streams map[string][]byte, key *keys.Key) backupinfo.Snapshot {
	tb.Helper()
	ds := store.Open(datastore.Options{})
	w, err := ds.Backup(tb.Context(), store.Group(group), datastore.BackupOptions{Time: time, Key: key})
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Close()
	for name, data := range streams {
		if _, err := w.AddStream(tb.Context(), archiveName(tb, name), bytes.NewReader(data)); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := w.Commit(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return w.Snapshot()
}

func compiled(tb testing.TB, q treefind.Query) *treefind.Matcher {
	tb.Helper()
	m, err := treefind.Compile(q)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// found runs a search, and shows what it gives as text, with errors that do not end it.
func found(tb testing.TB, s treefind.Search, store *testds.Store, group string) (lines []string, skipped []error) {
	tb.Helper()
	s.Store = store.Open(datastore.Options{})
	for m, err := range s.Group(tb.Context(), store.Group(group)) {
		if _, ok := errors.AsType[*treefind.SkippedError](err); ok {
			skipped = append(skipped, err)
			continue
		}
		if err != nil {
			tb.Fatal(err)
		}
		for _, v := range m.Versions {
			lines = append(lines, fmt.Sprintf("%s %s %v %d %d-%d x%d", m.Archive, m.Path, v.Kind, v.Size, v.First, v.Last, v.Snapshots))
		}
	}
	return lines, skipped
}
