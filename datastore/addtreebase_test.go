package datastore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/pxar"
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
		"its signature gone":  {form: inData, base: signed, now: signed, harm: takeSignature, notice: "can't be compared"},
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

// takeSignature makes a signed manifest one that nobody signed, as whoever can write to the store could.
func takeSignature(t testing.TB, store *testds.Store, base backupinfo.Snapshot) {
	t.Helper()
	text := bytes.Replace(manifestText(t, store, base), []byte(`"signature": "`), []byte(`"signature": null, "was": "`), 1)
	putManifest(t, store, base, bytes.Replace(text, []byte(`"key-fingerprint"`), []byte(`"was"`), 1))
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

// TestSmallFilesAreReusedHoweverFewMayBeOpen has rows that are put off in parts which are smaller than a chunk.
func TestSmallFilesAreReusedHoweverFewMayBeOpen(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	tree := treeOf(image(t, "xs64:1:600000"), 600, 1)
	opts := datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata, ChunkSize: 64 << 10, MaxQueued: 10}
	for round := range 3 {
		w, err := ds.Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{Time: first + backupinfo.Time(round)})
		if err != nil {
			t.Fatal(err)
		}
		files := &fileContents{}
		stats, err := addTree(t.Context(), w, "root.pxar", tree, opts, files)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		files.check(t)
		if reused := round > 0; (files.read == 0) != reused || (stats.ReusedFiles == stats.Files) != reused || stats.Padding > 4<<10 {
			t.Errorf("round %d: %d contents were read; %+v", round, files.read, stats)
		}
	}
}

// TestTheBaseIsLockedWhileATreeIsComparedWithIt has the locks of every backup.
func TestTheBaseIsLockedWhileATreeIsComparedWithIt(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	tree := treeOf(image(t, "xs64:1:60000"), 8, 1)
	opts := datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata, ChunkSize: 4 << 10}
	_, base := backupTree(t, ds, store.Group("host/h"), tree, opts, datastore.BackupOptions{Time: first})
	w, tw := beginTree(t, ds, store, datastore.ChangeDetectionMetadata)
	defer func() { _ = w.Close() }()
	if err := tw.Begin(&directoryEntry().Metadata); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.RemoveSnapshot(t.Context(), base, datastore.RemoveOptions{}); !errors.Is(err, flock.ErrLocked) {
		t.Errorf("the base is removed: %v", err)
	}
	if _, err := ds.Collect(t.Context(), datastore.CollectOptions{}); !errors.Is(err, flock.ErrLocked) {
		t.Errorf("a collection goes on: %v", err)
	}
	if got := readTree(t, ds, base, datastore.ReadOptions{}); !got.equal(tree) {
		t.Error("the base is read otherwise")
	}
}

// TestTheProgressOfATreeCountsBytesAndFiles knows how much is expected, and counts what was not read, too.
func TestTheProgressOfATreeCountsBytesAndFiles(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	var mu sync.Mutex
	var last datastore.Progress
	ds := store.Open(datastore.Options{Events: datastore.Events{Progress: func(p datastore.Progress) {
		mu.Lock()
		defer mu.Unlock()
		last = p
	}}})
	tree := treeOf(image(t, "xs64:1:60000"), 8, 1)
	opts := datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata, ChunkSize: 4 << 10, Expected: 60000}
	for _, reused := range []bool{false, true} {
		backupTree(t, ds, store.Group("host/h"), tree, opts, datastore.BackupOptions{})
		if last.Operation != "backup" || last.Total != 60000 || last.Done < 60000 || last.Files != 9 || (last.Reused >= 60000) != reused {
			t.Errorf("progress %+v, reused %v", last, reused)
		}
	}
}

// FuzzABaseThatIsAnything backs a tree up onto a base whose archives were not made by anybody who means well.
// Whatever is reused, what was read has to be right, and nothing may crash.
func FuzzABaseThatIsAnything(f *testing.F) {
	f.Add(goldenfile.Read(f, "pxar", "split/chain-a/s1/root.mpxar"), goldenfile.Read(f, "pxar", "split/chain-a/s1/root.ppxar.zst"), "a-first", uint64(3000))
	f.Add(goldenfile.Read(f, "pxar", "split/chain-a/s2/root.mpxar"), []byte("short"), "x-last", uint64(12345))
	f.Add([]byte("no archive"), []byte{}, "file", uint64(0))
	store := testds.New(f)
	ds := store.Open(datastore.Options{})
	group := store.Group("host/h")
	f.Fuzz(func(t *testing.T, entries, payload []byte, name string, size uint64) {
		if len(entries) == 0 || len(payload) == 0 || len(entries)+len(payload) > 1<<20 || pxar.CheckName(name) != nil {
			t.Skip()
		}
		w, err := ds.Backup(t.Context(), group, datastore.BackupOptions{Time: first})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := ds.RemoveGroup(t.Context(), group, datastore.RemoveGroupOptions{}); err != nil {
				t.Error(err)
			}
		}()
		for name, data := range map[string][]byte{"root.mpxar": entries, "root.ppxar": payload} {
			if _, err := w.AddStream(t.Context(), archiveName(t, name), bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		tree := memTree{name: {data: make([]byte, min(size, 1<<20)), changed: 1704890096}, "d1/f00": {data: make([]byte, 6000), changed: 1704890096}, "other": {data: []byte("new")}}
		stats, snapshot := backupTree(t, ds, group, tree,
			datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata, MaxPadding: 1}, datastore.BackupOptions{})
		if stats.ReusedFiles > 0 {
			return // whose contents are what the base says
		}
		if got := readTree(t, ds, snapshot, datastore.ReadOptions{}); !got.equal(tree) {
			t.Error("what was read anew is read back otherwise")
		}
	})
}
