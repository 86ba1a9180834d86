package datastore_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// notices are what the operations of a test had to tell.
type notices struct {
	mu    sync.Mutex
	texts []string
}

func (n *notices) events() datastore.Events {
	return datastore.Events{Notice: func(notice datastore.Notice) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.texts = append(n.texts, notice.Text)
	}}
}

// take gives what was told since the last call.
func (n *notices) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := strings.Join(n.texts, "; ")
	n.texts = nil
	return all
}

// chunksOf are the digests of an archive's chunks.
func chunksOf(t testing.TB, store *testds.Store, snapshot backupinfo.Snapshot, file string) (digests []digest.Digest) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(store.Dir, snapshot.Dir(), file))
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(strings.NewReader(string(data)), int64(len(data)), index.Dynamic)
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range x.Digests(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, d)
	}
	return digests
}

func chunkPath(store *testds.Store, d digest.Digest) string {
	return filepath.Join(store.Dir, ".chunks", d.String()[:4], d.String())
}

// TestWhatTheBaseMustBeForItsFilesToBeReused has eight files that have not changed.
func TestWhatTheBaseMustBeForItsFilesToBeReused(t *testing.T) {
	t.Parallel()
	key, other := testKey(t, 1), testKey(t, 2)
	metadata := datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata, ChunkSize: 4 << 10}
	inData := datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionData, ChunkSize: 4 << 10}
	signed := datastore.BackupOptions{Key: key, CryptMode: backupinfo.CryptSignOnly}
	for name, c := range map[string]struct {
		base, now datastore.BackupOptions
		form      datastore.TreeOptions
		harm      func(testing.TB, *testds.Store, backupinfo.Snapshot)
		all       bool   // they are reused
		notice    string // a part of what is told, "" for nothing
	}{
		"the same":            {form: inData, all: true},
		"of metadata mode":    {form: metadata, all: true},
		"encrypted":           {form: inData, base: datastore.BackupOptions{Key: key}, now: datastore.BackupOptions{Key: key}, all: true},
		"signed":              {form: inData, base: signed, now: signed, all: true},
		"of one archive":      {form: datastore.TreeOptions{}},
		"of another key":      {form: inData, base: datastore.BackupOptions{Key: other}, now: datastore.BackupOptions{Key: key}, notice: "not used as base"},
		"signed by another":   {form: inData, base: datastore.BackupOptions{Key: other, CryptMode: backupinfo.CryptSignOnly}, now: signed, notice: "can't be compared"},
		"not signed":          {form: inData, now: signed, notice: "can't be compared"},
		"signed, now not":     {form: inData, base: signed, notice: "can't be compared"},
		"encrypted, now not":  {form: inData, base: datastore.BackupOptions{Key: key}, notice: "not used as base"},
		"not used":            {form: inData, now: datastore.BackupOptions{Base: datastore.BaseChoice{None: true}}},
		"without its entries": {form: inData, harm: loseChunks("root.mpxar.didx"), notice: "can't be compared"},
		"without its data":    {form: inData, harm: loseChunks("root.ppxar.didx"), notice: "a chunk of theirs is not there"},
		"with an index cut":   {form: inData, harm: cutIndex("root.ppxar.didx"), notice: "can't be compared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			told := &notices{}
			ds := store.Open(datastore.Options{Events: told.events()})
			tree := treeOf(image(t, "xs64:1:60000"), 8, 1)
			c.base.Time = first
			_, base := backupTree(t, ds, store.Group("host/h"), tree, c.form, c.base)
			if c.harm != nil {
				store.Damaged = true
				c.harm(t, store, base)
			}
			told.take()
			stats, snapshot := backupTree(t, ds, store.Group("host/h"), tree, metadata, c.now)
			if want := map[bool]int{true: 9}[c.all]; stats.ReusedFiles != want || stats.Files != 9 {
				t.Errorf("%d of %d files are reused, want %d", stats.ReusedFiles, stats.Files, want)
			}
			if got := told.take(); (got == "") != (c.notice == "") || !strings.Contains(got, c.notice) {
				t.Errorf("told %q, want %q", got, c.notice)
			}
			if got := readTree(t, ds, snapshot, datastore.ReadOptions{Key: c.now.Key}); !got.equal(tree) {
				t.Error("the tree is read back otherwise")
			}
		})
	}
}

func loseChunks(file string) func(testing.TB, *testds.Store, backupinfo.Snapshot) {
	return func(t testing.TB, store *testds.Store, base backupinfo.Snapshot) {
		t.Helper()
		for _, d := range chunksOf(t, store, base, file) {
			if err := os.Remove(chunkPath(store, d)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func cutIndex(file string) func(testing.TB, *testds.Store, backupinfo.Snapshot) {
	return func(t testing.TB, store *testds.Store, base backupinfo.Snapshot) {
		t.Helper()
		if err := os.Truncate(filepath.Join(store.Dir, base.Dir(), file), index.HeaderSize+2*40); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAReusedChunkIsSafeFromACollection: it belongs to no other snapshot once the base is removed.
func TestAReusedChunkIsSafeFromACollection(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	tree := treeOf(image(t, "xs64:1:60000"), 8, 1)
	opts := datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata, ChunkSize: 4 << 10}
	_, base := backupTree(t, ds, store.Group("host/h"), tree, opts, datastore.BackupOptions{Time: first})
	stats, snapshot := backupTree(t, ds, store.Group("host/h"), tree, opts, datastore.BackupOptions{Time: second})
	if stats.ReusedFiles != 9 || stats.Injected == 0 {
		t.Fatalf("%+v", stats)
	}
	injected := chunksOf(t, store, snapshot, "root.ppxar.didx")
	for _, d := range chunksOf(t, store, base, "root.ppxar.didx") {
		if !slices.Contains(injected, d) {
			t.Errorf("chunk %s of the base is not reused", d)
		}
	}
	if _, err := ds.RemoveSnapshot(t.Context(), base, datastore.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Collect(t.Context(), datastore.CollectOptions{Cutoff: datastore.NoCutoff}); err != nil {
		t.Fatal(err)
	}
	if got := readTree(t, ds, snapshot, datastore.ReadOptions{}); !got.equal(tree) {
		t.Error("the tree is read back otherwise")
	}
}

// TestAFileThatIsNotReadIsClosedUnread also bounds how many are open.
func TestAFileThatIsNotReadIsClosedUnread(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	tree := treeOf(image(t, "xs64:1:60000"), 8, 1)
	opts := datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata, ChunkSize: 4 << 10, MaxQueued: 3, MaxPadding: 1}
	for round, want := range []int{8, 0} {
		w, err := ds.Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{Time: first + backupinfo.Time(round)})
		if err != nil {
			t.Fatal(err)
		}
		files := &fileContents{}
		if _, err := addTree(t.Context(), w, "root.pxar", tree, opts, files); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		files.check(t)
		if files.most > 4 && want == 0 {
			t.Errorf("%d contents were open at once", files.most)
		}
		if files.read != want {
			t.Errorf("round %d: %d contents were read, want %d", round, files.read, want)
		}
	}
}
