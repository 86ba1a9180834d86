package datastore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/pxar"
)

// backupOfTrees is a scenario of its own, because it makes more changes than all others.
func backupOfTrees() scenario {
	return scenario{
		operation: operation{name: "tree backup", object: "vm/100", time: third, data: "xs64:1:7000"},
		before:    2, after: 3, prepare: treesFirst,
	}
}

// TestADiskOperationThatFailsInABackupOfTreesLeavesOldOrNew has one operation fail, or from one on all of them.
func TestADiskOperationThatFailsInABackupOfTreesLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	s := backupOfTrees()
	for name, make := range map[string]func(int, unix.Errno) *fsoptest.Script{
		"before it happened": fsoptest.FailAt, "after it happened": fsoptest.FailAfter,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 0; ; n += sampleOf(19, 7) {
				script := make(n, unix.ENOSPC)
				if oneFailure(t, s, script, unix.ENOSPC); !script.Injected() {
					break
				}
			}
		})
	}
	t.Run("and all that follow", func(t *testing.T) {
		t.Parallel()
		for n := 0; ; n += sampleOf(19, 7) {
			script := fsoptest.FailFrom(n, unix.EIO)
			store := s.store(t)
			store.Leftovers = true
			err := s.run(t.Context(), store.Dir, script.Disk(), nil)
			if done := s.check(t, store, script); err == nil && !done {
				t.Errorf("%s: reported as done, and is not", script)
			}
			if !script.Injected() {
				break
			}
		}
	})
}

var errContent = errors.New("the disk is broken")

// brokenContent gives some data and then an error, or an error when it is closed.
type brokenContent struct {
	io.ReadCloser

	left    int
	read    error
	closing error
}

func (b *brokenContent) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, b.read
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *brokenContent) Close() error { return errors.Join(b.ReadCloser.Close(), b.closing) }

func allModes() []datastore.ChangeDetection {
	return []datastore.ChangeDetection{datastore.ChangeDetectionLegacy, datastore.ChangeDetectionData, datastore.ChangeDetectionMetadata}
}

func TestAContentThatCantBeReadGivesTheSnapshotUp(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	tree := treeOf(image(t, "xs64:1:60000"), 8, 1)
	data := datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionData, ChunkSize: 4 << 10}
	backupTree(t, ds, store.Group("host/h"), tree, data, datastore.BackupOptions{Time: first})
	tree["dir-1/file 4"] = memFile{data: tree["dir-1/file 4"].data, changed: 2} // so that it is read
	for name, c := range map[string]struct {
		broken brokenContent
		want   error
	}{
		"an error": {brokenContent{left: 100, read: errContent}, errContent}, "too short": {brokenContent{left: 100, read: io.EOF}, io.ErrUnexpectedEOF},
		"an error at the end": {brokenContent{left: 1 << 20, closing: errContent}, errContent},
	} {
		for _, mode := range allModes() {
			w, err := ds.Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tw, err := w.BeginTree(t.Context(), archiveName(t, "root.pxar"), datastore.TreeOptions{ChangeDetection: mode, ChunkSize: 4 << 10})
			if err != nil {
				t.Fatal(err)
			}
			files := &fileContents{}
			err = tree.feed(tw, func(path string, data []byte) io.ReadCloser {
				given := files.of(bytes.NewReader(data))
				if path == "dir-1/file 4" {
					broken := c.broken
					broken.ReadCloser = given
					return &broken
				}
				return given
			})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), `"dir-1/file 4"`) {
				t.Errorf("%s, %s: error %v, want %v with the name", name, mode, err, c.want)
			}
			files.check(t)
			if err := tw.AddFile("more", &pxar.Metadata{}, 1, files.of(strings.NewReader("x")), false); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: a call after the error: %v", name, mode, err)
			}
			files.check(t)
			if _, err := tw.Finish(); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: finished: %v", name, mode, err)
			}
			if err := tw.Close(); err != nil {
				t.Error(err)
			}
			if _, err := w.Commit(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: committed: %v", name, mode, err)
			}
			if n := len(store.Snapshots()); n != 1 {
				t.Errorf("%s, %s: %d snapshots", name, mode, n)
			}
		}
	}
}

// TestNothingGoesOnAfterATreeThatWasLeft is not parallel: it looks at all goroutines.
func TestNothingGoesOnAfterATreeThatWasLeft(t *testing.T) { //nolint:paralleltest // see above
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	tree := treeOf(image(t, "xs64:1:60000"), 8, 1)
	backupTree(t, ds, store.Group("host/h"), tree, datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionData}, datastore.BackupOptions{Time: first})
	for name, leave := range map[string]func(*datastore.SnapshotWriter, *datastore.TreeWriter, context.CancelFunc) error{
		"closed": func(_ *datastore.SnapshotWriter, tree *datastore.TreeWriter, _ context.CancelFunc) error {
			return errors.Join(tree.Close(), tree.Close())
		},
		"the snapshot closed": func(w *datastore.SnapshotWriter, _ *datastore.TreeWriter, _ context.CancelFunc) error {
			return w.Close()
		},
		"committed": func(w *datastore.SnapshotWriter, _ *datastore.TreeWriter, _ context.CancelFunc) error {
			if _, err := w.Commit(t.Context()); err == nil {
				return errors.New("a snapshot was committed with a tree open")
			}
			return nil
		},
		"cancelled": func(_ *datastore.SnapshotWriter, tree *datastore.TreeWriter, cancel context.CancelFunc) error {
			cancel()
			if err := tree.Leave(); !errors.Is(err, context.Canceled) {
				return errors.Join(errors.New("not cancelled"), err)
			}
			return nil
		},
	} {
		for _, mode := range allModes() {
			ctx, cancel := context.WithCancel(t.Context())
			w, err := ds.Backup(ctx, store.Group("host/h"), datastore.BackupOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tw, err := w.BeginTree(ctx, archiveName(t, "root.pxar"), datastore.TreeOptions{ChangeDetection: mode})
			if err != nil {
				t.Fatal(err)
			}
			files := &fileContents{}
			if err := tree.feed(tw, func(_ string, data []byte) io.ReadCloser { return files.of(bytes.NewReader(data)) }); err != nil {
				t.Fatal(err)
			}
			if err := leave(w, tw, cancel); err != nil {
				t.Errorf("%s, %s: %v", name, mode, err)
			}
			files.check(t)
			if err := tw.AddFile("late", &pxar.Metadata{}, 1, files.of(strings.NewReader("x")), false); err == nil {
				t.Errorf("%s, %s: a file was taken afterwards", name, mode)
			}
			files.check(t)
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			cancel()
			if stack := stacks(); strings.Contains(stack, "(*sideBySide).work") {
				t.Errorf("%s, %s: something goes on:\n%s", name, mode, stack)
			}
		}
	}
	if n := len(store.Snapshots()); n != 1 {
		t.Errorf("%d snapshots", n)
	}
}

func stacks() string {
	buffer := make([]byte, 1<<20)
	return string(buffer[:runtime.Stack(buffer, true)])
}

func TestWhileATreeIsOpenNothingElseIsAdded(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	w, err := store.Open(datastore.Options{}).Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	tree, err := w.BeginTree(t.Context(), archiveName(t, "root.pxar"), datastore.TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.BeginTree(t.Context(), archiveName(t, "home.pxar"), datastore.TreeOptions{}); err == nil || !strings.Contains(err.Error(), "finish or close it first") {
		t.Errorf("a second tree: %v", err)
	}
	if _, err := w.AddBlob(t.Context(), archiveName(t, "a.conf"), strings.NewReader("x")); err == nil {
		t.Error("a blob was added")
	}
	if err := (memTree{"f": {data: []byte("x")}}).feed(tree, func(_ string, data []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Finish(); err == nil {
		t.Error("finished twice")
	}
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
	for name, mode := range map[string]datastore.ChangeDetection{"home.pxar": datastore.ChangeDetectionLegacy, "srv.pxar": datastore.ChangeDetectionData} {
		if _, err := addTree(t.Context(), w, name, memTree{"f": {data: []byte("y")}}, datastore.TreeOptions{ChangeDetection: mode}, &fileContents{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"home.pxar", "srv.pxar"} {
		if _, err := w.BeginTree(t.Context(), archiveName(t, name), datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata}); !errors.Is(err, datastore.ErrExists) {
			t.Errorf("%s again: %v", name, err)
		}
	}
	if _, err := w.AddStream(t.Context(), archiveName(t, "catalog.pcat1"), strings.NewReader("x")); !errors.Is(err, datastore.ErrExists) {
		t.Errorf("a catalog beside that of the trees: %v", err)
	}
	if _, err := w.AddBlob(t.Context(), archiveName(t, "a.conf"), strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	info, err := w.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "a.conf.blob catalog.pcat1.didx home.pxar.didx index.json.blob root.pxar.didx srv.mpxar.didx srv.ppxar.didx"
	if got := strings.Join(namesOf(info.Files), " "); got != want {
		t.Errorf("files %s, want %s", got, want)
	}
}
