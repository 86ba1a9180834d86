package datastore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// nothing spares what a collection would spare for its age.
var nothing = datastore.CollectOptions{Cutoff: datastore.NoCutoff}

// later is a clock on which a time has passed: the time of change of a file can't be set back.
func later(by time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(by) }
}

// leaveGarbage removes ct/300 by hand, as after a crash in the middle, and leaves files of the kinds that a collection sweeps.
func leaveGarbage(t *testing.T, store *testds.Store) {
	t.Helper()
	area := filepath.Join(store.Dir, ".pbs-like-leftover")
	if err := os.Mkdir(area, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(store.Dir, "ct", "300"), filepath.Join(area, ".pbs-like-leftover-x")); err != nil {
		t.Fatal(err)
	}
	putChunkFile(t, store, numberedDigest(1).String()+".tmp_abcdef", []byte("half"))
	putChunkFile(t, store, numberedDigest(2).String()+".0.bad", []byte("bad"))
}

func numberedDigest(n byte) digest.Digest { return digest.Of([]byte{n}) }

// putChunkFile makes a file in the chunk directory that its name belongs into.
func putChunkFile(t *testing.T, store *testds.Store, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(store.Dir, ".chunks", name[:4], name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, content, 0o644)); err != nil {
		t.Fatal(err)
	}
	return file
}

// chunkFiles lists what is in all chunk directories.
func chunkFiles(t *testing.T, store *testds.Store) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(store.Dir, ".chunks", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	return names
}

// collectRest is what the next collection does after one that was cut off: the
// garbage of a scenario is gone then.
func collectRest(t *testing.T, store *testds.Store) {
	t.Helper()
	collect(t, store, nothing)
	if files := chunkFiles(t, store); len(files) != 2 { // two images of one chunk each
		t.Errorf("%q", files)
	}
}

func collect(t *testing.T, store *testds.Store, opts datastore.CollectOptions) datastore.CollectReport {
	t.Helper()
	report, err := store.Open(datastore.Options{}).Collect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestACollectionRemovesWhatNothingRefersToAndNothingElse(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:5M"))
	store.Backup("vm/100", second, image(t, "xs64:1:4M+xs64:2:1M"))
	before := chunkFiles(t, store)
	if len(before) != 3 {
		t.Fatalf("%q", before)
	}
	if report := collect(t, store, nothing); report.RemovedChunks != 0 || report.DiskChunks != 3 || report.Referenced != 3 || report.IndexFiles != 2 || report.IndexBytes != 10<<20 {
		t.Errorf("%+v", report)
	}
	snapshot := backupinfo.Snapshot{Group: store.Group("vm/100"), Time: first}
	if _, err := store.Open(datastore.Options{}).RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	report := collect(t, store, nothing)
	if report.RemovedChunks != 1 || report.RemovedBytes < 1<<20 || report.DiskChunks != 2 || report.PendingChunks != 0 || report.Missing != 0 {
		t.Errorf("%+v", report)
	}
	if after := chunkFiles(t, store); len(after) != 2 {
		t.Errorf("%q", after)
	}
}

func TestTheAgeOfAChunkDecides(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		opts    datastore.CollectOptions
		removed int
	}{
		"now":                      {datastore.CollectOptions{}, 0},
		"a day later":              {datastore.CollectOptions{Now: later(24 * time.Hour)}, 0},
		"a little later":           {datastore.CollectOptions{Now: later(24*time.Hour + 6*time.Minute)}, 1},
		"an hour, cut-off 2h":      {datastore.CollectOptions{Now: later(time.Hour), Cutoff: 2 * time.Hour}, 0},
		"3 hours, cut-off 2h":      {datastore.CollectOptions{Now: later(3 * time.Hour), Cutoff: 2 * time.Hour}, 1},
		"no cut-off":               {nothing, 1},
		"no cut-off, clock is off": {datastore.CollectOptions{Cutoff: datastore.NoCutoff, Now: later(-time.Hour)}, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			file := putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
			// Old by its times of access and content: that of its status can't be set.
			if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			report := collect(t, store, test.opts)
			if report.RemovedChunks != test.removed || report.PendingChunks != 1-test.removed || len(chunkFiles(t, store)) != 1-test.removed {
				t.Errorf("%+v", report)
			}
		})
	}
}

func TestADryRunKnowsExactlyWhatARealOneDoesAndChangesNothing(t *testing.T) {
	t.Parallel()
	store := scenario{before: 2, garbage: true}.store(t)
	before := everyName(t, store.Dir)
	dry := nothing
	dry.DryRun = true
	planned := collect(t, store, dry)
	if after := everyName(t, store.Dir); !slices.Equal(before, after) {
		t.Errorf("changed:\n%q\n%q", before, after)
	}
	done := collect(t, store, nothing)
	if done.RemovedChunks != 1 || done.RemovedBad != 1 || done.RemovedTemp != 1 || done.RemovedLeftovers != 1 {
		t.Errorf("%+v", done)
	}
	planned.RemovedLeftovers = 1 // which a dry run doesn't look at
	planned.UPID, planned.Duration, done.UPID, done.Duration = backupinfo.UPID{}, 0, backupinfo.UPID{}, 0
	if !reflect.DeepEqual(planned, done) {
		t.Errorf("planned %+v\ndone    %+v", planned, done)
	}
	if again := collect(t, store, nothing); again.RemovedChunks+again.RemovedBad+again.RemovedTemp+again.RemovedLeftovers != 0 {
		t.Errorf("a second time: %+v", again)
	}
}

// everyName lists every name below a directory.
func everyName(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func readStatus(t *testing.T, path string) (status map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &status)
	}
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func TestAStoreOfTheOriginalIsCollectedToTheOriginalsFigures(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store")
	own := filepath.Join(store.Dir, ".gc-status")
	want, wantText := readStatus(t, own), afterUPID(t, own)
	var notices []string
	ds := store.Open(datastore.Options{Events: datastore.Events{Notice: func(n datastore.Notice) { notices = append(notices, n.Object+": "+n.Text) }}})
	report, err := ds.Collect(t.Context(), datastore.CollectOptions{})
	if err != nil || len(report.Unexpected) != 0 || len(notices) != 0 {
		t.Fatalf("%+v, %v, %q", report, err, notices)
	}
	got := readStatus(t, own)
	if upid, err := backupinfo.ParseUPID(got["upid"].(string)); err != nil || upid != report.UPID || upid.WorkerType != "garbage_collection" {
		t.Errorf("%v, %v", got["upid"], err)
	}
	delete(got, "upid")
	delete(want, "upid")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if gotText := afterUPID(t, own); gotText != wantText {
		t.Errorf("%q\n%q", gotText, wantText)
	}
	// With everything unreferenced gone, all snapshots still restore.
	if report := collect(t, store, nothing); report.RemovedChunks != 5 || report.RemovedBytes != 299242 || report.DiskChunks != 69 {
		t.Errorf("%+v", report)
	}
	if failures := store.Unrestorable(); len(failures) != 0 {
		t.Errorf("%v", failures)
	}
}

// afterUPID is the text of a status behind its first value.
func afterUPID(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ",")
	return rest
}

// TestADamagedStoreOfTheOriginalIsCollected expects the figures of the original,
// which fails for the whole store as long as vm/4 and vm/9 are there.
func TestADamagedStoreOfTheOriginalIsCollected(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store-damaged-verified")
	whole := refuseCutOff(t, store)
	if whole.IndexFiles != 8 || whole.Missing != 5 {
		t.Errorf("%+v", whole)
	}
	for _, name := range []string{"4", "9"} {
		if err := os.RemoveAll(filepath.Join(store.Dir, "vm", name)); err != nil {
			t.Fatal(err)
		}
	}
	sumAgain(t, filepath.Join(store.Dir, wrongOffset))
	r := collect(t, store, datastore.CollectOptions{})
	if r.IndexFiles != 6 || r.IndexBytes != 4341304640 || r.DiskBytes != 166818 || r.DiskChunks != 7 || r.PendingBytes != 74966 || r.PendingChunks != 1 || r.RemovedBytes != 0 || r.StillBad != 0 {
		t.Errorf("%+v", r)
	}
}

// wrongOffset is an index with other entries than it was written with.
const wrongOffset = "vm/3/2024-01-01T00:00:00Z/a.didx"

// sumAgain gives an index the checksum of the entries that it has, as if it had been
// written with them. The original doesn't look at it.
func sumAgain(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.Of(raw[index.HeaderSize:])
	copy(raw[32:], sum[:])
	put(t, file, string(raw))
}

// refuseCutOff collects a store in which the index of vm/4 is 8 bytes short: what
// its last entry named is not known any more, and must not go, as with the original.
// That of vm/3 may have named something else once, which the original doesn't see.
func refuseCutOff(t *testing.T, store *testds.Store) datastore.CollectReport {
	t.Helper()
	before := chunkFiles(t, store)
	report, err := store.Open(datastore.Options{}).Collect(t.Context(), nothing)
	var blocked []string
	for _, b := range report.Blocked {
		blocked = append(blocked, fmt.Sprintf("%s %s of %s", b.Path, b.Kind, b.Snapshot))
	}
	slices.Sort(blocked)
	want := []string{wrongOffset + " index-damaged of vm/3/2024-01-01T00:00:00Z", "vm/4/2024-01-01T00:00:00Z/a.didx index-damaged of vm/4/2024-01-01T00:00:00Z"}
	if !errors.Is(err, datastore.ErrCorrupt) || !slices.Equal(blocked, want) || report.RemovedChunks != 0 {
		t.Errorf("%v, %q, %+v", err, blocked, report)
	}
	if after := chunkFiles(t, store); !slices.Equal(before, after) {
		t.Errorf("%q\n%q", before, after)
	}
	return report
}

// TestADamagedIndexStillKeepsItsChunks has one with a wrong offset and one without an entry.
func TestADamagedIndexStillKeepsItsChunks(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store-damaged")
	if whole := refuseCutOff(t, store); whole.IndexFiles != 8 || whole.Empty != 1 || whole.Missing != 1 {
		t.Errorf("%+v", whole)
	}
	if err := os.RemoveAll(filepath.Join(store.Dir, "vm", "4")); err != nil {
		t.Fatal(err)
	}
	sumAgain(t, filepath.Join(store.Dir, wrongOffset))
	before := chunkFiles(t, store)
	report := collect(t, store, nothing)
	if report.RemovedChunks != onlyOfTheCutOff || report.IndexFiles != 7 || report.Empty != 1 || report.Missing != 1 {
		t.Errorf("%+v", report)
	}
	if after := chunkFiles(t, store); len(after) != len(before)-onlyOfTheCutOff {
		t.Errorf("%q\n%q", before, after)
	}
}

// onlyOfTheCutOff is how many chunks nothing but the index of vm/4 names.
const onlyOfTheCutOff = 1

// cutOffIndex makes an index whose last entry is not whole, such as a power cut leaves.
func cutOffIndex(file string) error {
	header := append([]byte{28, 145, 78, 165, 25, 186, 179, 205}, make([]byte, index.HeaderSize-8)...)
	return os.WriteFile(file, append(header, make([]byte, 39)...), 0o644)
}

// TestWhatMayHideReferencesStopsACollection puts something into a store with an unreferenced chunk in it.
func TestWhatMayHideReferencesStopsACollection(t *testing.T) {
	t.Parallel()
	header := func(size int) []byte { return append(make([]byte, size), 1) }
	for what, test := range map[string]struct {
		put  func(dir string) error
		want error
	}{
		"an index without a header":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, "x.fidx"), nil, 0o644) }, datastore.ErrCorrupt},
		"an index that was cut off":   {func(dir string) error { return cutOffIndex(filepath.Join(dir, "x.didx")) }, datastore.ErrCorrupt},
		"an index with another magic": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "x.didx"), header(5000), 0o644) }, datastore.ErrCorrupt},
		"a link for an index":         {func(dir string) error { return os.Symlink("elsewhere", filepath.Join(dir, "x.fidx")) }, datastore.ErrCorrupt},
		"a link for a directory":      {func(dir string) error { return os.Symlink("/", filepath.Join(dir, "x")) }, datastore.ErrCorrupt},
		"another datastore":           {func(dir string) error { return os.MkdirAll(filepath.Join(dir, "x", ".chunks"), 0o755) }, datastore.ErrNested},
	} {
		for _, where := range []string{".", "vm/100/" + first.String(), "somewhere"} {
			t.Run(what+" in "+where, func(t *testing.T) {
				t.Parallel()
				store := testds.New(t)
				store.Backup("vm/100", first, image(t, "xs64:1:100"))
				putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
				dir := filepath.Join(store.Dir, where)
				if err := errors.Join(os.MkdirAll(dir, 0o755), test.put(dir)); err != nil {
					t.Fatal(err)
				}
				report, err := store.Open(datastore.Options{}).Collect(t.Context(), nothing)
				if !errors.Is(err, test.want) || len(chunkFiles(t, store)) != 2 || report.RemovedChunks != 0 {
					t.Errorf("%v, %+v", err, report)
				}
				if test.want == datastore.ErrCorrupt && (len(report.Blocked) != 1 || report.PendingChunks != 1) {
					t.Errorf("%+v", report)
				}
			})
		}
	}
}

func TestTheCacheOfAnObjectStoreIsNotCollected(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	putChunkFile(t, store, numberedDigest(1).String(), nil)
	putChunkFile(t, store, numberedDigest(2).String()+".using", nil)
	_, err := store.Open(datastore.Options{}).Collect(t.Context(), nothing)
	if !errors.Is(err, datastore.ErrNotDatastore) || len(chunkFiles(t, store)) != 2 {
		t.Errorf("%v", err)
	}
}

func TestIndexesCountWhereverTheyAre(t *testing.T) {
	t.Parallel()
	for where, test := range map[string]struct{ kept, unexpected bool }{
		"vm/100/2024-01-01T00:00:00Z":                              {true, false},
		"ns/a/ns/b/ct/7/2024-01-01T00:00:00Z":                      {true, false},
		strings.Repeat("ns/n/", 9) + "vm/100/2024-01-01T00:00:00Z": {true, false}, // deeper than a namespace may be
		"foo":                               {true, true},
		".":                                 {true, true},
		"vm/100":                            {true, true},
		"vm/100/2024-01-01T00:00:00Z/more":  {true, true},
		"trash/vm/100/2024-01-01T00:00:00Z": {true, true},
		".hidden":                           {false, false},
		"vm/.hidden/2024-01-01T00:00:00Z":   {false, false},
		"lost+found":                        {false, false},
		"vm/lost+found":                     {true, true},
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Leftovers = true
			putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
			dir := filepath.Join(store.Dir, where)
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "a.fidx"), fixedIndex(t, numberedDigest(1)), 0o644)); err != nil {
				t.Fatal(err)
			}
			var notices int
			ds := store.Open(datastore.Options{Events: datastore.Events{Notice: func(datastore.Notice) { notices++ }}})
			report, err := ds.Collect(t.Context(), nothing)
			if err != nil || (report.RemovedChunks == 0) != test.kept || (len(report.Unexpected) == 1) != test.unexpected || (notices == 1) != test.unexpected {
				t.Errorf("%+v, %v, %d notices", report, err, notices)
			}
			// Some of these are no entries of a listing.
			top, _, _ := strings.Cut(where, "/")
			if top != "." {
				if err := os.RemoveAll(filepath.Join(store.Dir, top)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// fixedIndex is an index of chunks of one byte each.
func fixedIndex(t *testing.T, digests ...digest.Digest) []byte {
	t.Helper()
	var entries bytes.Buffer
	w, err := index.NewFixedWriter(&entries, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range digests {
		if err := w.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	header, _, err := w.Finish(uint64(len(digests)), [16]byte{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return append(header, entries.Bytes()...)
}

func TestFilesOfDamagedChunksGoWhenTheyAreOfNoMoreUse(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	if err := os.WriteFile(filepath.Join(store.Dir, "a.fidx"), fixedIndex(t, numberedDigest(1), numberedDigest(2), numberedDigest(3)), 0o644); err != nil {
		t.Fatal(err)
	}
	kept := []string{
		putChunkFile(t, store, numberedDigest(1).String(), []byte("good")),
		putChunkFile(t, store, numberedDigest(2).String()+".0.bad", []byte("the only one")),
		putChunkFile(t, store, numberedDigest(3).String(), nil), // no use
		putChunkFile(t, store, numberedDigest(3).String()+".1.bad", []byte("the only one")),
		putChunkFile(t, store, numberedDigest(1).String()+".10.bad", []byte("no name of ours")),
	}
	putChunkFile(t, store, numberedDigest(1).String()+".0.bad", []byte("has a good twin"))
	putChunkFile(t, store, numberedDigest(4).String()+".9.bad", []byte("nobody refers to it"))
	report := collect(t, store, datastore.CollectOptions{Now: later(48 * time.Hour)})
	if report.RemovedBad != 2 || report.StillBad != 2 || report.DiskChunks != 2 || report.Empty != 1 || report.Missing != 1 || report.RemovedChunks != 0 {
		t.Errorf("%+v", report)
	}
	for _, file := range kept {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if files := chunkFiles(t, store); len(files) != len(kept) {
		t.Errorf("%q", files)
	}
}

func TestTouchSetsTheTimeOfAccessOfWhatIsInUse(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:100"))
	file := filepath.Join(store.Dir, ".chunks", chunkFiles(t, store)[0][:4], chunkFiles(t, store)[0])
	old := time.Unix(1_000_000_000, 0)
	for touch, want := range map[bool]bool{false: false, true: true} {
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
		collect(t, store, datastore.CollectOptions{Touch: touch})
		if got := accessed(t, file).After(old); got != want {
			t.Errorf("touch %v: %v", touch, accessed(t, file))
		}
	}
}

// TestWhatManySnapshotsShareIsTouchedOnce however many of them name it.
func TestWhatManySnapshotsShareIsTouchedOnce(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	for i := range backupinfo.Time(20) {
		store.Backup("vm/100", first+i, image(t, "xs64:1:9M"))
	}
	touched := 0
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if c.Op == fsop.OpTouch {
			touched++
		}
		return nil
	}}
	_, err := store.OpenWith(disk).Collect(t.Context(), datastore.CollectOptions{Touch: true})
	if chunks := len(chunkFiles(t, store)); err != nil || touched != chunks {
		t.Errorf("touched %d times, of %d chunks: %v", touched, chunks, err)
	}
}

func TestACollectionIsRefusedWhileABackupRunsAndWaitsIfTold(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	w, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: first})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Collect(t.Context(), nothing); !errors.Is(err, flock.ErrLocked) {
		t.Errorf("%v", err)
	}
	waiting := make(chan struct{})
	patient := store.Open(datastore.Options{LockWait: time.Minute, Events: datastore.Events{Waiting: func(error) { close(waiting) }}})
	done := make(chan error)
	go func() {
		_, err := patient.Collect(t.Context(), nothing)
		done <- err
	}()
	<-waiting
	if err := errors.Join(w.Close(), <-done); err != nil {
		t.Error(err)
	}
}
