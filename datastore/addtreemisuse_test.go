package datastore_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/pxar"
)

func text(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

func TestATreeThatIsWrittenWronglyIsRefused(t *testing.T) {
	t.Parallel()
	root, file := &directoryEntry().Metadata, &pxar.Metadata{Stat: pxar.Stat{Mode: 0o100644}}
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	for name, c := range map[string]struct {
		call func(*datastore.TreeWriter) error
		want string
	}{
		"a root twice":            {func(w *datastore.TreeWriter) error { return w.Begin(root) }, "once"},
		"leaving the root":        {func(w *datastore.TreeWriter) error { return w.Leave() }, "no directory is open but the root"},
		"a link to nothing":       {func(w *datastore.TreeWriter) error { return w.Link("b", "none") }, `"none"`},
		"a name that is a path":   {func(w *datastore.TreeWriter) error { return w.AddFile("a/b", file, 1, text("x"), false) }, "a/b"},
		"a name that leads up":    {func(w *datastore.TreeWriter) error { return w.Add("..", directoryEntry()) }, ".."},
		"an empty name":           {func(w *datastore.TreeWriter) error { return w.AddFile("", file, 1, text("x"), false) }, "name"},
		"a file without content":  {func(w *datastore.TreeWriter) error { return w.AddFile("a", file, 0, nil, false) }, "without content"},
		"a file as another entry": {func(w *datastore.TreeWriter) error { return w.Add("a", &pxar.Entry{Kind: pxar.File}) }, "content"},
		"a link as another entry": {func(w *datastore.TreeWriter) error { return w.Add("a", &pxar.Entry{Kind: pxar.Hardlink}) }, "content"},
		"an entry without a kind": {func(w *datastore.TreeWriter) error { return w.Add("a", &pxar.Entry{}) }, "can't be added"},
		"a directory that is left open": {func(w *datastore.TreeWriter) error {
			if err := w.Add("d", directoryEntry()); err != nil {
				return err
			}
			_, err := w.Finish()
			return err
		}, "not left"},
		"a link to a file that was not given as linked": {func(w *datastore.TreeWriter) error {
			if err := w.AddFile("a", file, 1, text("x"), false); err != nil {
				return err
			}
			return w.Link("b", "a")
		}, `"b" to "a"`},
	} {
		for _, mode := range allModes() {
			w, err := ds.Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tree, err := w.BeginTree(t.Context(), archiveName(t, "root.pxar"), datastore.TreeOptions{ChangeDetection: mode})
			if err != nil {
				t.Fatal(err)
			}
			if err := tree.AddFile("early", file, 1, text("x"), false); err == nil {
				t.Error("a file before the root was taken")
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			w, tree = beginTree(t, ds, store, mode)
			if err := tree.Begin(root); err != nil {
				t.Fatal(err)
			}
			if err := c.call(tree); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "root.pxar") {
				t.Errorf("%s, %s: error %v, want one with %q", name, mode, err, c.want)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func beginTree(t testing.TB, ds *datastore.Datastore, store *testds.Store, mode datastore.ChangeDetection) (*datastore.SnapshotWriter, *datastore.TreeWriter) {
	t.Helper()
	w, err := ds.Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := w.BeginTree(t.Context(), archiveName(t, "root.pxar"), datastore.TreeOptions{ChangeDetection: mode})
	if err != nil {
		t.Fatal(err)
	}
	return w, tree
}

func TestOptionsAndNamesOfTreesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	w, err := store.Open(datastore.Options{}).Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for name, opts := range map[string]datastore.TreeOptions{
		"root.img": {}, "root.mpxar": {ChangeDetection: datastore.ChangeDetectionData}, "catalog.pcat1": {}, "qemu-server.conf": {},
		"a.pxar": {ChangeDetection: 3}, "b.pxar": {ChangeDetection: -1}, "c.pxar": {Prelude: []byte("{}")}, "d.pxar": {ChunkSize: 5000},
		"e.pxar": {ChunkSize: 8 << 20}, "f.pxar": {ChunkSize: 2048}, "g.pxar": {MaxQueued: -1}, "h.pxar": {ChunkSize: -4096},
	} {
		if _, err := w.BeginTree(t.Context(), archiveName(t, name), opts); err == nil {
			t.Errorf("%s with %+v is accepted", name, opts)
		}
	}
	// And nothing of that has spoilt the snapshot.
	if _, err := addTree(t.Context(), w, "root.pxar", memTree{}, datastore.TreeOptions{}, &fileContents{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestThePayloadIsCutWhereTheOriginalCutsIt up to the first file that is larger than what is read at once.
func TestThePayloadIsCutWhereTheOriginalCutsIt(t *testing.T) {
	t.Parallel()
	var golden struct {
		Chunks []struct{ Digest string } `json:"ppxar-chunks"`
	}
	if err := json.Unmarshal(goldenfile.Read(t, "pxar", "split/chain-a/s1/chunks.json"), &golden); err != nil {
		t.Fatal(err)
	}
	store := testds.New(t)
	_, snapshot := backupChain(t, store.Open(datastore.Options{}), store.Group("host/h"), "s1",
		datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionData, ChunkSize: 16 << 10}, datastore.BackupOptions{})
	ours := chunksOf(t, store, snapshot, "root.ppxar.didx")
	for i, c := range golden.Chunks[:34] {
		if got := ours[i].String(); got != c.Digest {
			t.Fatalf("chunk %d is %s, the original's %s", i, got, c.Digest)
		}
	}
	if ours[len(ours)-1].String() != golden.Chunks[len(golden.Chunks)-1].Digest {
		t.Error("the last chunk, which is the last file with the tail, is another one")
	}
}

func TestThePreludeIsKept(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	const prelude = `{"exclude-patterns":"*.tmp\n"}`
	_, snapshot := backupTree(t, ds, store.Group("host/h"), memTree{"f": {data: []byte("x")}},
		datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata, Prelude: []byte(prelude)}, datastore.BackupOptions{})
	r, err := pxar.NewReader(strings.NewReader(string(store.Restore(snapshot, "root.mpxar"))), pxar.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Prelude()); got != prelude {
		t.Errorf("prelude %q", got)
	}
}
