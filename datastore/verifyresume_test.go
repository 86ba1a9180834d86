package datastore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
)

// A run that may look at the clock so often needs two others for so many chunks.
const chunksToResume, looksToResume = 10, 7

// resumer runs verifications of a store that remember, each an hour after the other.
type resumer struct {
	*testing.T
	store   *testds.Store
	state   string // the directory
	opts    datastore.VerifyOptions
	start   time.Time
	notices []datastore.Notice
}

func newResumer(t *testing.T, store *testds.Store) *resumer {
	t.Helper()
	state := filepath.Join(testds.TempDir(t), "state", "pbs-like")
	opts := datastore.VerifyOptions{Depth: -1, Memory: datastore.NewVerifyMemory(state)}
	return &resumer{T: t, store: store, state: state, opts: opts, start: time.Now().Add(time.Hour)}
}

// run verifies until the clock was looked at so many times, or without end.
func (r *resumer) run(looks int) (datastore.VerifyReport, []datastore.SnapshotVerdict) {
	r.Helper()
	var ticks atomic.Int64
	opts := r.opts
	start := r.start
	opts.MaxDuration = time.Duration(looks) * time.Second
	opts.Now = func() time.Time { return start.Add(time.Duration(ticks.Add(1)) * time.Second) }
	r.start = r.start.Add(time.Hour)
	r.notices = nil
	events := datastore.Events{Notice: func(n datastore.Notice) { r.notices = append(r.notices, n) }}
	return verifyWith(r.T, r.store.Open(datastore.Options{Events: events}), opts)
}

func (r *resumer) files() []string {
	files, err := filepath.Glob(filepath.Join(r.state, "*"))
	if err != nil {
		r.Fatal(err)
	}
	return files
}

func TestRunsThatAreTooShortForASnapshotReachItsEndTogether(t *testing.T) {
	t.Parallel()
	store, snapshot := someChunks(t, chunksToResume)
	r := newResumer(t, store)
	read, resumed := 0, -1
	for run := 1; ; run++ {
		report, verdicts := r.run(looksToResume)
		v := verdicts[0]
		if v.Resumed <= resumed || v.Resumed != read || report.Resumed != v.Resumed || report.Chunks == 0 {
			t.Fatalf("run %d made no progress: %+v, %+v", run, v, report)
		}
		resumed, read = v.Resumed, read+report.Chunks
		if v.Verdict == datastore.VerdictOK {
			if run < 3 || read != chunksToResume {
				t.Errorf("%d runs read %d chunks", run, read)
			}
			break
		}
		if v.Verdict != datastore.VerdictPartly || readManifest(t, store, snapshot).VerifyState() != nil || len(r.files()) != 1 {
			t.Fatalf("run %d: %+v, %q", run, v, r.files())
		}
		info, err := os.Stat(r.files()[0])
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if state := readManifest(t, store, snapshot).VerifyState(); state == nil || state.State != backupinfo.VerifyOK {
		t.Errorf("recorded %+v", state)
	}
	// With the verdict it is forgotten: the next run reads all.
	if report, verdicts := r.run(0); report.Chunks != chunksToResume || verdicts[0].Resumed != 0 || len(r.files()) != 0 {
		t.Errorf("%+v, %+v, %q", report, verdicts, r.files())
	}
}

func TestWithoutAMemoryEachRunBeginsAnew(t *testing.T) {
	t.Parallel()
	store, _ := someChunks(t, chunksToResume)
	r := newResumer(t, store)
	r.run(looksToResume)
	memory := r.opts.Memory
	for _, change := range []func(*datastore.VerifyOptions){
		func(o *datastore.VerifyOptions) { o.Memory = nil },
		func(o *datastore.VerifyOptions) { o.DryRun = true },
		func(o *datastore.VerifyOptions) { o.Sample = 0.9 },
	} {
		r.opts = datastore.VerifyOptions{Depth: -1, Memory: memory}
		change(&r.opts)
		before, err := os.ReadFile(r.files()[0])
		if err != nil {
			t.Fatal(err)
		}
		if report, verdicts := r.run(looksToResume); report.Resumed != 0 || verdicts[0].Verdict != datastore.VerdictPartly {
			t.Errorf("%+v, %+v", report, verdicts)
		}
		if after, err := os.ReadFile(r.files()[0]); err != nil || string(after) != string(before) {
			t.Errorf("the memory has changed: %v", err)
		}
	}
}

func TestWhatWasInterruptedGoesOn(t *testing.T) {
	t.Parallel()
	store, _ := someChunks(t, chunksToResume)
	r := newResumer(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps := 0
	opts := r.opts
	opts.Now = func() time.Time { return r.start }
	ds := store.Open(datastore.Options{Events: datastore.Events{Progress: func(datastore.Progress) {
		if steps++; steps == 3 {
			cancel()
		}
	}}})
	if _, err := ds.Verify(ctx, opts); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	report, verdicts := r.run(0)
	if report.Resumed < 3 || report.Resumed+report.Chunks != chunksToResume || verdicts[0].Verdict != datastore.VerdictOK {
		t.Errorf("%+v, %+v", report, verdicts)
	}
}

func TestAChunkFileThatIsAnotherOrHasChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(path string, data []byte, info os.FileInfo) error
		seen   bool // that the content is wrong
	}{
		"replaced, with the same size and times": {func(path string, data []byte, info os.FileInfo) error {
			return errors.Join(os.WriteFile(path+".new", data, 0o644), os.Chtimes(path+".new", time.Time{}, info.ModTime()), os.Rename(path+".new", path))
		}, true},
		"of another size, with the same times": {func(path string, data []byte, info os.FileInfo) error {
			return errors.Join(os.WriteFile(path, data[:len(data)-1], 0o644), os.Chtimes(path, time.Time{}, info.ModTime()))
		}, true},
		"written to": {func(path string, data []byte, _ os.FileInfo) error {
			return os.WriteFile(path, data, 0o644)
		}, true},
		"gone": {func(path string, _ []byte, _ os.FileInfo) error { return os.Remove(path) }, true},
		// What nothing shows but the content is the limit of what is promised.
		"written to, and made look as before": {func(path string, data []byte, info os.FileInfo) error {
			return errors.Join(os.WriteFile(path, data, 0o644), os.Chtimes(path, time.Time{}, info.ModTime()))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := someChunks(t, chunksToResume)
			r := newResumer(t, store)
			before, _ := r.run(looksToResume)
			store.Damaged = true
			for _, file := range chunkFiles(t, store) {
				path := filepath.Join(store.Dir, ".chunks", file[:4], file)
				info, err := os.Stat(path)
				data, readErr := os.ReadFile(path)
				if err := errors.Join(err, readErr); err != nil {
					t.Fatal(err)
				}
				data[len(data)-1] ^= 1
				if err := c.change(path, data, info); err != nil {
					t.Fatal(err)
				}
			}
			want := chunksToResume
			if !c.seen {
				want -= before.Chunks
			}
			report, verdicts := r.run(0)
			if v := verdicts[0]; v.Verdict != datastore.VerdictFailed || v.Archives[0].Lost != want || report.Resumed != chunksToResume-want {
				t.Errorf("%+v, %+v", v, report)
			}
			if len(r.files()) != 0 {
				t.Errorf("%q is kept of a snapshot that has a verdict", r.files())
			}
		})
	}
}

func TestAChunkThatWasOnlyTouchedIsNotReadAgain(t *testing.T) {
	t.Parallel()
	store, _ := someChunks(t, chunksToResume)
	r := newResumer(t, store)
	before, _ := r.run(looksToResume)
	for _, file := range chunkFiles(t, store) {
		if err := os.Chtimes(filepath.Join(store.Dir, ".chunks", file[:4], file), time.Now(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if report, verdicts := r.run(0); report.Resumed != before.Chunks || verdicts[0].Verdict != datastore.VerdictOK {
		t.Errorf("%+v, %+v", report, verdicts)
	}
}

func TestAChunkThatIsDamagedIsNeverRememberedAsGood(t *testing.T) {
	t.Parallel()
	store, snapshot := someChunks(t, chunksToResume)
	store.Damaged = true
	for i, file := range chunkFiles(t, store) {
		if i%2 == 0 {
			if err := os.WriteFile(filepath.Join(store.Dir, ".chunks", file[:4], file), []byte("wrong"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := newResumer(t, store)
	_, verdicts := r.run(looksToResume)
	if verdicts[0].Verdict != datastore.VerdictFailed || len(r.files()) != 0 {
		t.Errorf("%+v, %q", verdicts, r.files())
	}
	if _, verdicts = r.run(0); verdicts[0].Verdict != datastore.VerdictFailed || verdicts[0].Archives[0].Lost != chunksToResume/2 {
		t.Errorf("%+v", verdicts)
	}
	if state := readManifest(t, store, snapshot).VerifyState(); state == nil || state.State != backupinfo.VerifyFailed {
		t.Errorf("recorded %+v", state)
	}
}

func TestAFileThatHasJustBeenWrittenIsNotRemembered(t *testing.T) {
	t.Parallel()
	store, _ := someChunks(t, chunksToResume)
	r := newResumer(t, store)
	r.start = time.Now().Add(-time.Minute) // all files are younger than the run
	r.run(looksToResume)
	r.start = time.Now()
	if report, _ := r.run(0); report.Resumed != 0 || report.Chunks != chunksToResume {
		t.Errorf("%+v", report)
	}
}

// encryptedChunks makes a snapshot of as many chunks that are encrypted.
func encryptedChunks(t *testing.T, key *keys.Key) *testds.Store {
	t.Helper()
	store := testds.New(t)
	const chunks, size = chunksToResume, 4 << 20
	image := make([]byte, chunks*size)
	for i := range chunks {
		image[i*size] = byte(i + 1)
	}
	w, err := store.Open(datastore.Options{}).Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: first, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, err = w.AddImage(t.Context(), archive(t, "disk.img"), bytes.NewReader(image), int64(len(image)))
	if err == nil {
		_, err = w.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestWhatWasProvenWithOneKeyIsNotProvenWithAnotherOrWithout(t *testing.T) {
	t.Parallel()
	key, none := testKey(t, 1), (*keys.Key)(nil)
	for name, c := range map[string]struct {
		before, after *keys.Key
		resumed       bool
	}{
		"without and without":   {none, none, true},
		"without, then with it": {none, key, false},
		"with it, then without": {key, none, false},
		"with and with":         {key, key, true},
		"with it and another":   {key, testKey(t, 2), false},
		"another, then with it": {testKey(t, 2), key, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := encryptedChunks(t, key)
			r := newResumer(t, store)
			r.opts.Key = c.before
			if report, verdicts := r.run(looksToResume); report.Chunks == 0 || verdicts[0].Verdict != datastore.VerdictPartly {
				t.Fatalf("%+v, %+v", report, verdicts)
			}
			r.opts.Key = c.after
			report, verdicts := r.run(0)
			if (report.Resumed > 0) != c.resumed || report.Resumed+report.Chunks != chunksToResume || verdicts[0].Verdict != datastore.VerdictOK {
				t.Errorf("%+v, %+v", report, verdicts)
			}
		})
	}
}

func TestAMemoryThatCannotBeTrustedIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  func(path string) error
		notice string
	}{
		"cut off":                {func(path string) error { return os.Truncate(path, 100) }, "checksum"},
		"empty":                  {func(path string) error { return os.Truncate(path, 0) }, "does not begin"},
		"too long":               {func(path string) error { return os.Truncate(path, 65<<20) }, "longer than"},
		"something else":         {func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("{}", 500)), 0o600) }, "does not begin"},
		"for others to write to": {func(path string) error { return os.Chmod(path, 0o620) }, "written to by others"},
		"a symbolic link": {func(path string) error {
			return errors.Join(os.Rename(path, path+".moved"), os.Symlink(path+".moved", path))
		}, "symbolic link"},
		"a pipe":           {func(path string) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) }, "regular"},
		"of somebody else": {func(path string) error { return os.Chown(path, 12345, -1) }, "somebody else"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := someChunks(t, chunksToResume)
			r := newResumer(t, store)
			r.run(looksToResume)
			if err := c.spoil(r.files()[0]); errors.Is(err, os.ErrPermission) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			report, verdicts := r.run(0)
			if report.Resumed != 0 || report.Chunks != chunksToResume || verdicts[0].Verdict != datastore.VerdictOK {
				t.Errorf("%+v, %+v", report, verdicts)
			}
			if len(r.notices) != 1 || r.notices[0].Err == nil || !strings.Contains(r.notices[0].Err.Error(), c.notice) {
				t.Errorf("%+v", r.notices)
			}
		})
	}
}

func TestWhatWasProvenCountsForAWeek(t *testing.T) {
	t.Parallel()
	for after, resumed := range map[time.Duration]bool{6 * 24 * time.Hour: true, 7*24*time.Hour + 30*time.Minute: false, -2 * time.Hour: false} {
		store, _ := someChunks(t, chunksToResume)
		r := newResumer(t, store)
		first := r.start.Add(24 * time.Hour)
		r.start = first
		r.run(looksToResume)
		r.start = first.Add(time.Hour) // a second run makes the proofs of the first no younger
		r.run(looksToResume)
		r.start = first.Add(after)
		report, verdicts := r.run(0)
		if (report.Resumed > 0) != resumed || verdicts[0].Verdict != datastore.VerdictOK || (len(r.notices) == 0) != resumed {
			t.Errorf("after %v: %+v, %+v", after, report, r.notices)
		}
	}
}

func TestTheMemoryOfAnotherStoreIsLeftOut(t *testing.T) {
	t.Parallel()
	store, _ := someChunks(t, chunksToResume)
	r := newResumer(t, store)
	r.run(looksToResume)
	own := r.files()[0]
	other, _ := someChunks(t, chunksToResume)
	elsewhere := newResumer(t, other)
	elsewhere.run(looksToResume)
	if err := os.Rename(elsewhere.files()[0], own); err != nil {
		t.Fatal(err)
	}
	if report, _ := r.run(0); report.Resumed != 0 || len(r.notices) != 1 || !strings.Contains(r.notices[0].Err.Error(), "another store") {
		t.Errorf("%+v, %+v", report, r.notices)
	}
}

func TestTheSnapshotThatWasCutOffComesFirst(t *testing.T) {
	t.Parallel()
	store, snapshot := someChunks(t, chunksToResume)
	r := newResumer(t, store)
	r.run(looksToResume)
	// Both would come before it: they were never verified either, and are listed before.
	store.Backup("vm/001", first, []byte("new"))
	later := store.Backup("vm/100", second, []byte("newer"))
	r.opts.Groups = []backupinfo.Group{snapshot.Group}
	if _, verdicts := r.run(looksToResume); verdicts[0].Snapshot != snapshot || verdicts[0].Resumed == 0 || verdicts[1].Snapshot != later {
		t.Errorf("%+v", verdicts)
	}
	r.opts.Groups = nil
	if _, verdicts := r.run(looksToResume); verdicts[0].Snapshot != snapshot || verdicts[0].Resumed == 0 {
		t.Errorf("%+v", verdicts)
	}
}

func TestTwoSnapshotsThatAreCutOffInTurnBothReachTheirEnd(t *testing.T) {
	t.Parallel()
	store, snapshot := someChunks(t, chunksToResume)
	image := store.Restore(snapshot, "disk.img")
	image[1]++
	other := store.Backup("vm/200", first, image)
	r := newResumer(t, store)
	ended := map[backupinfo.Snapshot]bool{}
	for run := 0; len(ended) < 2; run++ {
		if run == 20 {
			t.Fatal("they don't")
		}
		for _, s := range []backupinfo.Snapshot{snapshot, other} {
			r.opts.Snapshots = []backupinfo.Snapshot{s}
			if _, verdicts := r.run(looksToResume); verdicts[0].Verdict == datastore.VerdictOK {
				ended[s] = true
			}
		}
	}
}

func TestASnapshotThatSharesChunksSaysThatTheyWereTakenFromBefore(t *testing.T) {
	t.Parallel()
	store, snapshot := someChunks(t, chunksToResume)
	r := newResumer(t, store)
	before, _ := r.run(looksToResume)
	store.Backup("vm/200", first, store.Restore(snapshot, "disk.img"))
	report, verdicts := r.run(0)
	if len(verdicts) != 2 || verdicts[0].Resumed != before.Chunks || verdicts[1].Resumed != before.Chunks || report.Resumed != before.Chunks {
		t.Errorf("%+v, %+v", verdicts, report)
	}
}
