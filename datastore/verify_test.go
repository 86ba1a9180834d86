package datastore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// verify gives the report and the verdicts in order.
func verify(t *testing.T, store *testds.Store, opts datastore.VerifyOptions) (datastore.VerifyReport, []datastore.SnapshotVerdict) {
	t.Helper()
	return verifyWith(t, store.Open(datastore.Options{}), opts)
}

func verifyWith(t *testing.T, ds *datastore.Datastore, opts datastore.VerifyOptions) (datastore.VerifyReport, []datastore.SnapshotVerdict) {
	t.Helper()
	var verdicts []datastore.SnapshotVerdict
	opts.Each = func(v datastore.SnapshotVerdict) { verdicts = append(verdicts, v) }
	report, err := ds.Verify(t.Context(), opts)
	if err != nil {
		t.Error(err)
	}
	return report, verdicts
}

var allSnapshots = datastore.VerifyOptions{Depth: -1}

func readManifest(t *testing.T, store *testds.Store, snapshot backupinfo.Snapshot) *backupinfo.Manifest {
	t.Helper()
	stored, err := os.ReadFile(filepath.Join(store.Dir, snapshot.Dir(), backupinfo.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	decoder := blob.NewDecoder()
	defer decoder.Close()
	text, err := decoder.Decode(nil, stored, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := backupinfo.ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

func TestTheDamagedStoreOfTheOriginalGetsTheOriginalsVerdicts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(testds.Testdata(t, "golden/expected/damaged-full-verify.out"))
	if err != nil {
		t.Fatal(err)
	}
	store := testds.Golden(t, "store-damaged")
	report, verdicts := verify(t, store, allSnapshots)
	var got []string
	for _, v := range verdicts {
		got = append(got, map[datastore.Verdict]string{datastore.VerdictFailed: "FAIL ", datastore.VerdictOK: "OK "}[v.Verdict]+v.Snapshot.String())
		if v.Unrecorded != nil {
			t.Errorf("%s: %v", v.Snapshot, v.Unrecorded)
		}
		if v.Err != nil { // no manifest to record it in
			continue
		}
		state := readManifest(t, store, v.Snapshot).VerifyState()
		if state == nil || state.State != backupinfo.VerifyFailed || state.UPID != report.UPID {
			t.Errorf("%s: recorded %+v", v.Snapshot, state)
		}
	}
	slices.Sort(got)
	if want := strings.Fields(strings.ReplaceAll(string(text), "FAIL ", "FAIL_")); strings.ReplaceAll(strings.Join(got, " "), "FAIL ", "FAIL_") != strings.Join(want, " ") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// The same chunks are put aside.
	want := badFiles(t, testds.Golden(t, "store-damaged-verified"))
	if bad := badFiles(t, store); !slices.Equal(bad, want) || len(report.Renamed) != len(want) {
		t.Errorf("renamed %q\nwant    %q", bad, want)
	}
	again, _ := verify(t, store, allSnapshots)
	if again.Verdicts[datastore.VerdictFailed] != len(got) || len(again.Renamed) != 0 {
		t.Errorf("a second time: %+v", again)
	}
}

func badFiles(t *testing.T, store *testds.Store) []string {
	t.Helper()
	return slices.DeleteFunc(chunkFiles(t, store), func(name string) bool { return !strings.HasSuffix(name, ".bad") })
}

func TestAGoodStoreOfTheOriginalIsFoundGoodAndItsManifestsKeepAllElse(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store")
	before := map[string][]byte{}
	for _, snapshot := range store.Finished() {
		before[snapshot.Dir()] = withoutVerdict(t, store, snapshot)
	}
	report, verdicts := verify(t, store, allSnapshots)
	encrypted := 0
	for _, v := range verdicts {
		if v.Encrypted {
			encrypted++
		}
		if v.Verdict == datastore.VerdictUnfinished {
			continue
		}
		state := readManifest(t, store, v.Snapshot).VerifyState()
		if v.Verdict != datastore.VerdictOK || len(v.Archives) != 0 || state == nil || state.State != backupinfo.VerifyOK || state.UPID != report.UPID {
			t.Errorf("%+v: %+v", v, state)
		}
		if !bytes.Equal(before[v.Snapshot.Dir()], withoutVerdict(t, store, v.Snapshot)) {
			t.Errorf("%s: more than the verdict has changed", v.Snapshot)
		}
	}
	if report.Verdicts[datastore.VerdictOK] != len(before) || report.Verdicts[datastore.VerdictUnfinished] != 3 || encrypted != 2 || report.Encrypted == 0 || report.Chunks != 69 {
		t.Errorf("%+v, %d encrypted", report, encrypted)
	}
}

func withoutVerdict(t *testing.T, store *testds.Store, snapshot backupinfo.Snapshot) []byte {
	t.Helper()
	manifest := readManifest(t, store, snapshot)
	if err := manifest.SetUnprotected("verify_state", nil); err != nil {
		t.Fatal(err)
	}
	text, err := manifest.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhatSnapshotsShareIsReadOnce(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:8M+zero:40M"))
	store.Backup("vm/100", second, image(t, "xs64:1:8M+zero:40M+xs64:2:4M"))
	report, _ := verify(t, store, allSnapshots)
	if report.Chunks != 4 || report.Bytes != 16<<20 || report.Verdicts[datastore.VerdictOK] != 2 {
		t.Errorf("%+v", report)
	}
}

// theChunk is the file of the only chunk of a store.
func theChunk(t *testing.T, store *testds.Store) string {
	t.Helper()
	names := chunkFiles(t, store)
	if len(names) != 1 {
		t.Fatalf("%q", names)
	}
	return filepath.Join(store.Dir, ".chunks", names[0][:4], names[0])
}

func TestOnlyWhatWasReadAndIsWrongFails(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		damage  func(chunk, snapshot string) error
		verdict datastore.Verdict
		renamed int
	}{
		"nothing": {func(string, string) error { return nil }, datastore.VerdictOK, 0},
		"a flipped bit": {func(chunk, _ string) error {
			return flip(chunk)
		}, datastore.VerdictFailed, 1},
		"a chunk cut short":  {func(chunk, _ string) error { return os.Truncate(chunk, 100) }, datastore.VerdictFailed, 1},
		"an empty chunk":     {func(chunk, _ string) error { return os.Truncate(chunk, 0) }, datastore.VerdictFailed, 1},
		"a missing chunk":    {func(chunk, _ string) error { return os.Remove(chunk) }, datastore.VerdictFailed, 0},
		"a pipe for a chunk": {func(chunk, _ string) error { return errors.Join(os.Remove(chunk), unix.Mkfifo(chunk, 0o600)) }, datastore.VerdictUnsure, 0},
		"a link for a chunk": {func(chunk, _ string) error {
			return errors.Join(os.Rename(chunk, chunk+"x"), os.Symlink(chunk+"x", chunk))
		}, datastore.VerdictUnsure, 0},
		"a chunk too large":   {func(chunk, _ string) error { return os.Truncate(chunk, 1<<30) }, datastore.VerdictFailed, 1},
		"a flipped index":     {func(_, snapshot string) error { return flip(filepath.Join(snapshot, "disk.img.fidx")) }, datastore.VerdictFailed, 0},
		"a missing index":     {func(_, snapshot string) error { return os.Remove(filepath.Join(snapshot, "disk.img.fidx")) }, datastore.VerdictFailed, 0},
		"a flipped blob":      {func(_, snapshot string) error { return flip(filepath.Join(snapshot, "vm.conf.blob")) }, datastore.VerdictFailed, 0},
		"a missing blob":      {func(_, snapshot string) error { return os.Remove(filepath.Join(snapshot, "vm.conf.blob")) }, datastore.VerdictFailed, 0},
		"a directory for one": {func(_, snapshot string) error { return replaceByDirectory(filepath.Join(snapshot, "vm.conf.blob")) }, datastore.VerdictFailed, 0},
		"a flipped manifest":  {func(_, snapshot string) error { return flip(filepath.Join(snapshot, "index.json.blob")) }, datastore.VerdictFailed, 0},
		"a directory for it":  {func(_, snapshot string) error { return replaceByDirectory(filepath.Join(snapshot, "index.json.blob")) }, datastore.VerdictUnsure, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Damaged = true
			snapshot := store.Backup("vm/100", first, image(t, "xs64:1:100000"))
			other := store.Backup("vm/200", first, image(t, "xs64:1:100000"))
			if err := test.damage(theChunk(t, store), filepath.Join(store.Dir, snapshot.Dir())); err != nil {
				t.Fatal(err)
			}
			report, verdicts := verify(t, store, allSnapshots)
			if len(verdicts) != 2 || verdicts[0].Snapshot != snapshot || verdicts[0].Verdict != test.verdict || len(report.Renamed) != test.renamed || len(badFiles(t, store)) != test.renamed {
				t.Errorf("%+v\n%+v", report, verdicts)
			}
			if chunk := strings.Contains(what, "chunk") || what == "a flipped bit"; chunk != (verdicts[1].Verdict != datastore.VerdictOK) {
				t.Errorf("of the other one: %+v", verdicts[1])
			}
			if test.verdict == datastore.VerdictUnsure && what != "a directory for it" && readManifest(t, store, snapshot).VerifyState() != nil {
				t.Error("a verdict was recorded")
			}
			_ = other
		})
	}
}

func flip(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	content[len(content)-1] ^= 1
	return os.WriteFile(file, content, 0o644)
}

func replaceByDirectory(file string) error {
	return errors.Join(os.Remove(file), os.Mkdir(file, 0o755))
}

func TestTheReportTellsWhichRangesAreLost(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	snapshot := store.Backup("vm/100", first, image(t, "xs64:1:4M"))
	if err := flip(theChunk(t, store)); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(datastore.Options{}).Snapshot(t.Context(), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	_, verdicts := verify(t, store, allSnapshots)
	damaged := verdicts[0].Archives[0].Damaged
	if len(damaged) != 1 || damaged[0].Start != 0 || damaged[0].End != 4<<20 || !damaged[0].Lost || damaged[0].Err == nil || verdicts[0].Archives[0].Name != "disk.img.fidx" {
		t.Errorf("%+v", verdicts)
	}
}

func TestOptionsChooseWhatIsVerified(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	old := store.Backup("vm/100", first, []byte("x"))
	verify(t, store, datastore.VerifyOptions{Snapshots: []backupinfo.Snapshot{old}, Now: later(-10 * 24 * time.Hour)})
	fresh := store.Backup("ct/200", first, []byte("y"))
	for what, test := range map[string]struct {
		opts  datastore.VerifyOptions
		order []backupinfo.Snapshot
	}{
		"never verified come first": {allSnapshots, []backupinfo.Snapshot{fresh, old}},
		"a group":                   {datastore.VerifyOptions{Groups: []backupinfo.Group{old.Group}}, []backupinfo.Snapshot{old}},
		"a snapshot":                {datastore.VerifyOptions{Snapshots: []backupinfo.Snapshot{fresh}}, []backupinfo.Snapshot{fresh}},
		"verified ones are skipped": {datastore.VerifyOptions{SkipVerified: true}, []backupinfo.Snapshot{fresh}},
		"recent ones are skipped":   {datastore.VerifyOptions{OutdatedAfter: 11 * 24 * time.Hour}, []backupinfo.Snapshot{fresh}},
		"outdated ones are not":     {datastore.VerifyOptions{OutdatedAfter: 9 * 24 * time.Hour}, []backupinfo.Snapshot{fresh, old}},
		"time is up":                {datastore.VerifyOptions{MaxDuration: time.Second, Now: ticking()}, nil},
	} {
		test.opts.DryRun = true
		_, verdicts := verify(t, store, test.opts)
		var order []backupinfo.Snapshot
		for _, v := range verdicts {
			if v.Verdict == datastore.VerdictOK {
				order = append(order, v.Snapshot)
			}
		}
		if !slices.Equal(order, test.order) {
			t.Errorf("%s: %v", what, verdicts)
		}
	}
	if readManifest(t, store, fresh).VerifyState() != nil {
		t.Error("a dry run has recorded a verdict")
	}
}

// TestAVerificationOfTheFutureIsNone has it recorded by a run whose clock was wrong.
func TestAVerificationOfTheFutureIsNone(t *testing.T) {
	t.Parallel()
	store, key := testds.New(t), testKey(t, 1)
	ds := store.Open(datastore.Options{})
	future, _ := backUpWith(t, ds, store.Group("vm/200"), datastore.BackupOptions{Time: first, Key: key}, []byte("x"))
	old := store.Backup("vm/100", first, []byte("y"))
	verify(t, store, datastore.VerifyOptions{Snapshots: []backupinfo.Snapshot{future}, Key: key, Now: later(24 * time.Hour)})
	verify(t, store, datastore.VerifyOptions{Snapshots: []backupinfo.Snapshot{old}, Now: later(-2 * time.Hour)})
	for _, opts := range []datastore.VerifyOptions{{OutdatedAfter: time.Hour}, {SkipVerified: true, Key: key}, {MaxDuration: time.Hour}} {
		opts.Depth, opts.DryRun = -1, true
		_, verdicts := verify(t, store, opts)
		if len(verdicts) != 2 || verdicts[0].Snapshot != future || verdicts[0].Verdict != datastore.VerdictOK {
			t.Errorf("%+v: %+v", opts, verdicts)
		}
	}
	// When that time has come it counts, as any other.
	_, verdicts := verify(t, store, datastore.VerifyOptions{Depth: -1, DryRun: true, OutdatedAfter: 2 * time.Hour, Now: later(25 * time.Hour)})
	if len(verdicts) != 2 || verdicts[0].Snapshot != old || verdicts[1].Verdict != datastore.VerdictRecent {
		t.Errorf("%+v", verdicts)
	}
}

// ticking is a clock that goes on by a minute whenever somebody looks at it.
func ticking() func() time.Time {
	now := time.Now()
	return func() time.Time {
		now = now.Add(time.Minute)
		return now
	}
}

func TestWhatIsNotThereCannotBeVerified(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	if _, err := ds.Verify(t.Context(), datastore.VerifyOptions{Groups: []backupinfo.Group{store.Group("vm/1")}}); !errors.Is(err, datastore.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := ds.Verify(t.Context(), datastore.VerifyOptions{Snapshots: []backupinfo.Snapshot{{Group: store.Group("vm/1"), Time: first}}}); !errors.Is(err, datastore.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestOneManifestThatCannotBeWrittenDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, []byte("x"))
	store.Backup("vm/200", first, []byte("x"))
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if c.Op == fsop.OpCreate && strings.Contains(c.Path, "vm/100") {
			return unix.EROFS
		}
		return nil
	}}
	report, verdicts := verifyWith(t, store.OpenWith(disk), allSnapshots)
	if report.Unrecorded != 1 || report.Verdicts[datastore.VerdictOK] != 2 || !errors.Is(verdicts[0].Unrecorded, unix.EROFS) || verdicts[1].Unrecorded != nil {
		t.Errorf("%+v\n%+v", report, verdicts)
	}
}

func TestADamagedChunkThatCannotBeRenamedIsReportedAllTheSame(t *testing.T) {
	t.Parallel()
	for _, errno := range []unix.Errno{unix.EACCES, unix.EROFS, unix.EIO, unix.ENOSPC} {
		store := testds.New(t)
		store.Damaged = true
		store.Backup("vm/100", first, image(t, "xs64:1:100"))
		if err := flip(theChunk(t, store)); err != nil {
			t.Fatal(err)
		}
		disk := &fsop.Disk{Before: func(c fsop.Change) error {
			if c.Op == fsop.OpRename && strings.Contains(c.Path, ".chunks") {
				return errno
			}
			return nil
		}}
		report, verdicts := verifyWith(t, store.OpenWith(disk), allSnapshots)
		if len(report.Renamed) != 0 || verdicts[0].Verdict != datastore.VerdictFailed || !errors.Is(verdicts[0].Archives[0].Damaged[0].Err, errno) {
			t.Errorf("%v: %+v\n%+v", errno, report, verdicts)
		}
	}
}

// TestVerificationsABackupAndACollectionOnOneDamagedChunk run at once, again and again.
func TestVerificationsABackupAndACollectionOnOneDamagedChunk(t *testing.T) {
	t.Parallel()
	for range 20 {
		store := testds.New(t)
		data := image(t, "xs64:1:100000")
		store.Backup("vm/100", first, data)
		chunk := theChunk(t, store)
		if err := flip(chunk); err != nil {
			t.Fatal(err)
		}
		ds := store.Open(datastore.Options{LockWait: time.Minute})
		var all errgroup.Group
		for range 2 {
			all.Go(func() error { _, err := ds.Verify(t.Context(), allSnapshots); return err })
		}
		all.Go(func() error {
			_, err := testds.Backup(t.Context(), ds, store.Group("vm/200"), first, data)
			return err
		})
		all.Go(func() error { _, err := ds.Collect(t.Context(), nothing); return err })
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		if bad := badFiles(t, store); len(bad) > 1 {
			t.Fatalf("%q", bad)
		}
		// Whoever came first: with a backup after it all, allSnapshots is good again.
		store.Backup("vm/300", first, data)
		collect(t, store, nothing)
		if report, _ := verify(t, store, allSnapshots); report.Verdicts[datastore.VerdictOK] != 3 || len(chunkFiles(t, store)) != 1 {
			t.Fatalf("%+v, %q", report, chunkFiles(t, store))
		}
	}
}

// TestAKillInAVerificationLosesNoFileOfADamagedChunk kills it before and after each
// of its changes: the file of the chunk is there, under one name.
func TestAKillInAVerificationLosesNoFileOfADamagedChunk(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"kill-before", "kill-after"} {
		for n, died := 0, true; died; n++ {
			store := testds.New(t)
			store.Damaged = true
			data := image(t, "xs64:1:100000")
			store.Backup("vm/100", first, data)
			if err := flip(theChunk(t, store)); err != nil {
				t.Fatal(err)
			}
			died = operation{name: "verify"}.start(t, store, fmt.Sprintf("%s-%d", when, n)).Ended() != nil
			if files := chunkFiles(t, store); len(files) != 1 {
				t.Errorf("%s-%d: %q", when, n, files)
			}
			if report, verdicts := verify(t, store, allSnapshots); report.Verdicts[datastore.VerdictFailed] != 1 || verdicts[0].Unrecorded != nil {
				t.Errorf("%s-%d: %+v", when, n, verdicts)
			}
			store.Backup("vm/200", first, data)
			collect(t, store, nothing)
			if report, _ := verify(t, store, allSnapshots); report.Verdicts[datastore.VerdictOK] != 2 || len(chunkFiles(t, store)) != 1 {
				t.Errorf("%s-%d: %+v, %q", when, n, report, chunkFiles(t, store))
			}
		}
	}
}

func TestASnapshotThatSomebodyRemovesIsPassedOver(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	busy := store.Backup("vm/100", first, []byte("x"))
	store.Backup("vm/200", first, []byte("x"))
	remover := operation{name: "remove-snapshot", object: busy.String()}.start(t, store, "pause-before-0")
	waitUntilHeld(remover)
	report, verdicts := verify(t, store, allSnapshots)
	if report.Verdicts[datastore.VerdictBusy] != 1 || report.Verdicts[datastore.VerdictOK] != 1 || !errors.Is(verdicts[0].Err, flock.ErrLocked) {
		t.Errorf("%+v", verdicts)
	}
	remover.Send("go on")
	remover.Expect("done")
	// One that goes between the listing and its turn has vanished.
	next := store.Backup("vm/300", first, []byte("x")) // comes first, for it was never verified
	gone := backupinfo.Snapshot{Group: store.Group("vm/200"), Time: first}
	ds := store.Open(datastore.Options{})
	opts := datastore.VerifyOptions{Snapshots: []backupinfo.Snapshot{gone, next}}
	once := true
	opts.Each = func(datastore.SnapshotVerdict) {
		if once {
			once = false
			if _, err := ds.RemoveSnapshot(t.Context(), gone, datastore.RemoveOptions{}); err != nil {
				t.Error(err)
			}
		}
	}
	report, err := ds.Verify(t.Context(), opts)
	if err != nil || report.Verdicts[datastore.VerdictOK] != 1 || report.Verdicts[datastore.VerdictVanished] != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestWhatOneIndexSaysOfAChunksSizeSaysNothingOfAnothers lets two snapshots share a
// chunk, of which one claims a byte less: that one can't be restored, the other one can.
func TestWhatOneIndexSaysOfAChunksSizeSaysNothingOfAnothers(t *testing.T) {
	t.Parallel()
	for _, wrong := range []int{0, 1} { // the first that is verified, and the last
		store := testds.New(t)
		store.Damaged = true
		data := image(t, "xs64:1:4M")
		snapshots := []backupinfo.Snapshot{store.Backup("vm/100", first, data), store.Backup("vm/200", first, data)}
		shorten(t, store, snapshots[wrong])
		for _, opts := range []datastore.VerifyOptions{{Depth: -1, DryRun: true}, allSnapshots} {
			_, verdicts := verify(t, store, opts)
			for i, v := range verdicts {
				want := datastore.VerdictOK
				if i == wrong {
					want = datastore.VerdictFailed
				}
				if v.Snapshot != snapshots[i] || v.Verdict != want {
					t.Errorf("%d is wrong: %+v", wrong, v)
				}
			}
		}
	}
}

// shorten makes index and manifest of a snapshot of 4 MiB say that it has a byte less.
func shorten(t *testing.T, store *testds.Store, snapshot backupinfo.Snapshot) {
	t.Helper()
	name := filepath.Join(store.Dir, snapshot.Dir(), "disk.img.fidx")
	index, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const sizeField = 64
	binary.LittleEndian.PutUint64(index[sizeField:], 4<<20-1)
	if err := os.WriteFile(name, index, 0o644); err != nil {
		t.Fatal(err)
	}
	rewriteManifest(t, store, snapshot, func(text []byte) []byte {
		return bytes.Replace(text, []byte(`"size": 4194304`), []byte(`"size": 4194303`), 1)
	})
}

// TestAGoodChunkThatWasPutAsideIsRecovered is what a verification leaves that dies before it puts a file back.
func TestAGoodChunkThatWasPutAsideIsRecovered(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	snapshot := store.Backup("vm/100", first, image(t, "xs64:1:100"))
	file := filepath.Join(store.Dir, ".chunks", chunkFiles(t, store)[0][:4], chunkFiles(t, store)[0])
	for what, corrupt := range map[string]bool{"missing": false, "damaged": true} {
		if err := os.Rename(file, file+".0.bad"); err != nil {
			t.Fatal(err)
		}
		if corrupt {
			put(t, file, "garbage")
		}
		if !corrupt { // no collection takes it
			if report := collect(t, store, nothing); report.RemovedBad != 0 || report.Missing != 1 {
				t.Errorf("%s: %+v", what, report)
			}
		}
		report, verdicts := verify(t, store, datastore.VerifyOptions{DryRun: true})
		if len(report.Recovered) != 0 || verdicts[0].Verdict != datastore.VerdictFailed {
			t.Errorf("%s, dry: %+v, %+v", what, report, verdicts)
		}
		report, verdicts = verify(t, store, datastore.VerifyOptions{Snapshots: []backupinfo.Snapshot{snapshot}})
		if len(report.Recovered) != 1 || report.Recovered[0] != filepath.Base(file)+".0.bad" || verdicts[0].Verdict != datastore.VerdictOK {
			t.Errorf("%s: %+v, %+v", what, report, verdicts)
		}
	}
}

// TestAVerdictIsNotRecordedInAnotherManifestThanWasVerified exchanges it while a chunk is read.
func TestAVerdictIsNotRecordedInAnotherManifestThanWasVerified(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	snapshot := store.Backup("vm/100", first, image(t, "xs64:1:4M"))
	changed := false
	ds := store.Open(datastore.Options{Events: datastore.Events{Progress: func(p datastore.Progress) {
		if p.Operation == "verify" && !changed {
			changed = true
			rewriteManifest(t, store, snapshot, func(text []byte) []byte {
				return bytes.Replace(text, []byte(`"size": 4194304`), []byte(`"size": 4194303`), 1)
			})
		}
	}}})
	report, verdicts := verifyWith(t, ds, datastore.VerifyOptions{})
	if !changed || report.Unrecorded != 1 || verdicts[0].Verdict != datastore.VerdictOK || !strings.Contains(verdicts[0].Unrecorded.Error(), "another manifest") {
		t.Errorf("%+v, %+v", report, verdicts)
	}
	if readManifest(t, store, snapshot).VerifyState() != nil {
		t.Error("a verdict was recorded")
	}
}
