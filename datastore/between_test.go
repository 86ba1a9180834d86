package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// What comes in between, at the one place where it hurts most.

func TestACollectionStopsWhenItsLockFileIsReplaced(t *testing.T) {
	t.Parallel()
	store := scenario{before: 2}.store(t)
	before := len(chunkFiles(t, store))
	for i := range byte(10) {
		putChunkFile(t, store, numberedDigest(i).String(), []byte{i})
	}
	// Whoever replaces it lets writers in, which may be using what is garbage now.
	lock := filepath.Join(store.Dir, ".lock")
	replace := sync.OnceFunc(func() {
		put(t, lock+".new", "")
		if err := os.Rename(lock+".new", lock); err != nil {
			t.Error(err)
		}
	})
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if c.Op == fsop.OpRemove && strings.Contains(c.Path, ".chunks") {
			replace()
		}
		return nil
	}}
	report, err := store.OpenWith(disk).Collect(t.Context(), nothing)
	if !errors.Is(err, flock.ErrChanged) || report.RemovedChunks != 1 || len(chunkFiles(t, store)) != before+9 {
		t.Errorf("%v, %+v", err, report)
	}
}

func TestLeftoversBesideGroupsAndSnapshotsAreCollected(t *testing.T) {
	t.Parallel()
	store := scenario{before: 2}.store(t)
	for _, dir := range []string{".pbs-like-leftover", "vm", "vm/100", ""} {
		if err := os.MkdirAll(filepath.Join(store.Dir, dir, ".pbs-like-leftover-x", "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if report := collect(t, store, datastore.CollectOptions{}); report.RemovedLeftovers != 4 {
		t.Errorf("%+v", report)
	}
}

// during calls act once, when a verification is in the middle of its first image.
func during(store *testds.Store, act func()) *datastore.Datastore {
	once := sync.OnceFunc(act)
	return store.Open(datastore.Options{Events: datastore.Events{Progress: func(p datastore.Progress) {
		if p.Operation == "verify" {
			once()
		}
	}}})
}

func TestAVerificationThatIsCancelledSaysNothingAboutWhatItWasReading(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, image(t, "xs64:1:9M"))
	ctx, cancel := context.WithCancel(t.Context())
	verdicts := 0
	opts := allSnapshots
	opts.Each = func(datastore.SnapshotVerdict) { verdicts++ }
	report, err := during(store, cancel).Verify(ctx, opts)
	if !errors.Is(err, context.Canceled) || verdicts+len(report.Verdicts) != 0 {
		t.Errorf("%v, %+v", err, report)
	}
	if state := readManifest(t, store, one).VerifyState(); state != nil {
		t.Errorf("%+v", state)
	}
}

func TestAVerdictIsNotRecordedInAManifestThatListsOtherFiles(t *testing.T) {
	t.Parallel()
	store, other := testds.New(t), testds.New(t)
	store.Damaged = true // as the test makes it
	one := store.Backup("vm/100", first, image(t, "xs64:1:3000"))
	other.Backup("vm/100", first, image(t, "xs64:2:3000"))
	manifest := filepath.Join(store.Dir, one.Dir(), backupinfo.ManifestName)
	ds := during(store, func() {
		text, err := os.ReadFile(filepath.Join(other.Dir, one.Dir(), backupinfo.ManifestName))
		put(t, manifest+".new", string(text))
		if err := errors.Join(err, os.Rename(manifest+".new", manifest)); err != nil {
			t.Error(err)
		}
	})
	report, verdicts := verifyWith(t, ds, allSnapshots)
	if report.Unrecorded != 1 || verdicts[0].Unrecorded == nil || readManifest(t, store, one).VerifyState() != nil {
		t.Errorf("%+v", verdicts)
	}
}

func TestASnapshotWithTheManifestOfAnotherGetsNoNotes(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true // as the test makes it
	one, two := store.Backup("vm/100", first, []byte("x")), store.Backup("vm/100", second, []byte("y"))
	text, err := os.ReadFile(filepath.Join(store.Dir, one.Dir(), backupinfo.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(store.Dir, two.Dir(), backupinfo.ManifestName), string(text))
	if err := store.Open(datastore.Options{}).SetNotes(t.Context(), object(t, two.Dir()), "x"); !errors.Is(err, datastore.ErrCorrupt) {
		t.Error(err)
	}
}

func TestAProtectionThatCannotBeWrittenIsNoChange(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if strings.Contains(c.Path, ".protected") {
			return unix.ENOSPC
		}
		return nil
	}}
	if changed, err := store.OpenWith(disk).Protect(t.Context(), one, datastore.ProtectOptions{}); changed || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v, %v", changed, err)
	}
}

// A server may have begun to write where one of its snapshots was left behind a day ago.
func TestALeftoverThatIsWrittenToAgainIsBusyForPruning(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	store.Backup("vm/100", first, []byte("x"))
	broken := unfinished(t, store, second, time.Now())
	mark := filepath.Join(store.Dir, broken.Dir(), ".pbs-like-writer")
	put(t, mark, "") // so that it counts as left behind, until that is gone
	store.Backup("vm/100", third, []byte("y"))
	disk := interfere(func() {
		if err := os.Remove(mark); err != nil {
			t.Error(err)
		}
	})
	report, err := store.OpenWith(disk).Prune(t.Context(), store.Group("vm/100"), keepLast(1))
	if got := outcomes(report); err != nil || got != "removed busy kept" || !errors.Is(report.Snapshots[1].Err, datastore.ErrUnfinished) {
		t.Errorf("%s, %v", got, err)
	}
}

// The rename that brought a leftover to its place may not be on disk yet: its files
// must not be gone before it is.
func TestALeftoverIsOnDiskBeforeItIsUnlinked(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, []byte("x"))
	left := filepath.Join(store.Dir, ".pbs-like-leftover", ".pbs-like-leftover-x")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(left, "index.json.blob"), "")
	script := fsoptest.Record()
	if _, err := store.OpenWith(script.Disk()).Prune(t.Context(), store.Group("vm/100"), keepLast(1)); err != nil {
		t.Fatal(err)
	}
	changes := script.Changes()
	synced := position(t, changes, 0, fsop.OpSyncDir, ".pbs-like-leftover")
	if unlinked := position(t, changes, 0, fsop.OpRemove, "index.json.blob"); unlinked < synced {
		t.Errorf("%v", changes)
	}
}

func TestWhatACutOffRewriteLeftGoesWithTheNext(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	left := filepath.Join(store.Dir, one.Dir(), "index.json.tmp_abcdef")
	put(t, left, "half")
	if err := store.Open(datastore.Options{}).SetNotes(t.Context(), object(t, one.Dir()), "x"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A good chunk comes to the place of a damaged one after a verification has read
// that, and before it renames it: it is put back.
func TestTwoVerificationsAndABackupOnOneDamagedChunkStoppedAtTheRename(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"pause-before-0", "pause-after-0"} {
		for _, second := range []bool{false, true} {
			store := testds.New(t)
			data := image(t, "xs64:1:3000")
			store.Backup("vm/100", first, data)
			if err := flip(theChunk(t, store)); err != nil {
				t.Fatal(err)
			}
			one := operation{name: "verify", object: "vm/100/" + first.String()}.start(t, store, script)
			if line := one.Line(); !strings.Contains(line, "rename") {
				t.Fatal(line)
			}
			if second {
				verify(t, store, datastore.VerifyOptions{Depth: -1, DryRun: true})
			}
			if err := os.Remove(theChunk(t, store)); err != nil && script == "pause-before-0" {
				t.Fatal(err) // as another verification does, when it has renamed it
			}
			store.Backup("vm/200", first, data)
			one.Send("go on")
			_ = one.Line() // what it says of the damage
			report, _ := verify(t, store, allSnapshots)
			if files := chunkFiles(t, store); report.Verdicts[datastore.VerdictOK] != 2 || len(files) > 2 {
				t.Errorf("%s: %+v, %q", script, report, files)
			}
			if collect(t, store, nothing); len(chunkFiles(t, store)) != 1 {
				t.Errorf("%s: %q", script, chunkFiles(t, store))
			}
		}
	}
}

// A good chunk is the twin of its own damaged file only, and not of that of the next chunk in the same directory.
func TestTheDamagedFileOfAMissingChunkStaysBesideAGoodChunk(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true // as the test makes it
	one, two := neighbours()
	store.Backup("vm/100", first, one)
	store.Backup("vm/100", second, two)
	names := chunkFiles(t, store)
	if len(names) != 2 || names[0][:4] != names[1][:4] {
		t.Fatalf("%q", names)
	}
	file := filepath.Join(store.Dir, ".chunks", names[1][:4], names[1])
	if err := os.Rename(file, file+".0.bad"); err != nil {
		t.Fatal(err)
	}
	if report := collect(t, store, nothing); report.RemovedBad != 0 || report.Missing != 1 || len(badFiles(t, store)) != 1 {
		t.Errorf("%+v", report)
	}
}

// neighbours gives two contents whose chunks come into the same directory.
func neighbours() (one, two []byte) {
	seen := map[[2]byte][]byte{}
	for i := 0; ; i++ {
		content := fmt.Append(nil, "content ", i)
		d := digest.Of(content)
		prefix := [2]byte(d[:2])
		if other, ok := seen[prefix]; ok {
			return other, content
		}
		seen[prefix] = content
	}
}

// What was found damaged stays found damaged, whatever is collected in between.
func TestADamagedStoreOfTheOriginalIsAsDamagedAfterACollectionAsBefore(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store-damaged")
	_, before := verify(t, store, allSnapshots)
	sumAgain(t, filepath.Join(store.Dir, wrongOffset)) // with another checksum it would stop the collection
	// Its index is cut off, so that nothing is collected while it is there.
	if err := os.RemoveAll(filepath.Join(store.Dir, "vm", "4")); err != nil {
		t.Fatal(err)
	}
	if report := collect(t, store, nothing); report.RemovedBad != 0 {
		t.Errorf("%+v", report)
	}
	_, after := verify(t, store, allSnapshots)
	want := map[backupinfo.Snapshot]string{}
	for _, v := range before {
		want[v.Snapshot] = fmt.Sprint(v.Verdict, lostOf(v))
	}
	for _, v := range after {
		if got := fmt.Sprint(v.Verdict, lostOf(v)); got != want[v.Snapshot] {
			t.Errorf("%s: %s, and before it was %s", v.Snapshot, got, want[v.Snapshot])
		}
	}
	if len(after) != len(before)-1 {
		t.Errorf("%d, and before there were %d", len(after), len(before))
	}
}

func lostOf(v datastore.SnapshotVerdict) (lost []int) {
	for _, archive := range v.Archives {
		lost = append(lost, archive.Lost, archive.Unread)
	}
	return lost
}
