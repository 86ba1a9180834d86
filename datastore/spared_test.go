package datastore_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func TestAVerificationThatOnlyReadsRenamesNoDamagedChunk(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	one := store.Backup("vm/100", first, image(t, "xs64:1:3000"))
	if err := flip(theChunk(t, store)); err != nil {
		t.Fatal(err)
	}
	before := everyName(t, store.Dir)
	report, verdicts := verify(t, store, datastore.VerifyOptions{Depth: -1, DryRun: true})
	if after := everyName(t, store.Dir); !slices.Equal(before, after) || len(report.Renamed) != 0 || verdicts[0].Verdict != datastore.VerdictFailed {
		t.Errorf("%+v, %q", report, after)
	}
	if state := readManifest(t, store, one).VerifyState(); state != nil {
		t.Errorf("%+v", state)
	}
}

// TestASizeThatIsWrongFailsAndRenamesNoChunk changes what the manifest says of the
// size, and what the index says too: the chunk is good in both cases.
func TestASizeThatIsWrongFailsAndRenamesNoChunk(t *testing.T) {
	t.Parallel()
	for _, index := range []bool{false, true} {
		store := testds.New(t)
		store.Damaged = true
		one := store.Backup("vm/100", first, image(t, "xs64:1:3000"))
		dir := filepath.Join(store.Dir, one.Dir())
		text := strings.Replace(manifestOf(t, store, one), `"size": 3000`, `"size": 3001`, 1)
		encoder := blob.NewEncoder()
		defer encoder.Close()
		stored, err := encoder.EncodePlain(nil, []byte(text))
		if err != nil || !strings.Contains(text, "3001") {
			t.Fatal(err, text)
		}
		put(t, filepath.Join(dir, backupinfo.ManifestName), string(stored))
		if index {
			setIndexSize(t, filepath.Join(dir, "disk.img.fidx"), 3001)
		}
		report, verdicts := verify(t, store, allSnapshots)
		if verdicts[0].Verdict != datastore.VerdictFailed || len(report.Renamed) != 0 || len(badFiles(t, store)) != 0 || index != (verdicts[0].Archives[0].Lost == 1) {
			t.Errorf("%v: %+v", index, verdicts)
		}
	}
}

func setIndexSize(t *testing.T, file string, size uint64) {
	t.Helper()
	const offset = 64
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(content[offset:], size)
	put(t, file, string(content))
}

func TestWhatIsNoPlainFileIsNotCollected(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	for i, make := range []func(string) error{
		func(name string) error { return unix.Mkfifo(name, 0o644) },
		func(name string) error { return os.Symlink("/etc/passwd", name) },
		func(name string) error { return os.Mkdir(name, 0o755) },
	} {
		for _, suffix := range []string{"", ".0.bad", ".tmp_abcdef"} {
			name := numberedDigest(byte(i)).String() + suffix
			file := putChunkFile(t, store, name, nil)
			if err := errors.Join(os.Remove(file), make(file)); err != nil {
				t.Fatal(err)
			}
		}
	}
	store.Leftovers = true
	before := chunkFiles(t, store)
	if report := collect(t, store, nothing); report.RemovedChunks+report.RemovedBad+report.RemovedTemp != 0 {
		t.Errorf("%+v", report)
	}
	if after := chunkFiles(t, store); !slices.Equal(before, after) {
		t.Errorf("%q\n%q", before, after)
	}
}

func TestADryRunThatFindsWhatMayHideReferencesWouldRemoveNothing(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
	put(t, filepath.Join(store.Dir, "x.fidx"), "")
	dry := nothing
	dry.DryRun = true
	report, err := store.Open(datastore.Options{}).Collect(t.Context(), dry)
	if !errors.Is(err, datastore.ErrCorrupt) || len(report.Blocked) != 1 || report.RemovedChunks != 0 || report.PendingChunks != 1 {
		t.Errorf("%+v", report)
	}
}

func TestWhatCouldNotBeReadIsNotRecordedAndThatIsNoFailure(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	store.Backup("vm/100", first, image(t, "xs64:1:3000"))
	chunk := theChunk(t, store)
	if err := errors.Join(os.Remove(chunk), unix.Mkfifo(chunk, 0o600)); err != nil {
		t.Fatal(err)
	}
	report, verdicts := verify(t, store, allSnapshots)
	if report.Unrecorded != 0 || verdicts[0].Unrecorded != nil || verdicts[0].Verdict != datastore.VerdictUnsure {
		t.Errorf("%+v", verdicts)
	}
}

// TestWhereTheRootIsNoPlaceARemovalGoesOnBesideIt has a group on a disk of its own, and one without room for a rename.
func TestWhereTheRootIsNoPlaceARemovalGoesOnBesideIt(t *testing.T) {
	t.Parallel()
	for _, errno := range []unix.Errno{unix.EXDEV, unix.ENOSPC, unix.EDQUOT} {
		store := testds.New(t)
		one := store.Backup("vm/100", first, []byte("x"))
		store.Backup("vm/100", second, []byte("x"))
		beside := false
		disk := &fsop.Disk{Before: func(c fsop.Change) error {
			if c.Op == fsop.OpRename && strings.Contains(c.To, "/.pbs-like-leftover/") {
				return errno
			}
			beside = beside || c.Op == fsop.OpRename && strings.Contains(c.To, "vm/100/.pbs-like-leftover-")
			return nil
		}}
		if _, err := store.OpenWith(disk).RemoveSnapshot(t.Context(), one, datastore.RemoveOptions{}); err != nil || !beside || len(store.Snapshots()) != 1 {
			t.Errorf("%s: %v, beside %v", unix.ErrnoName(errno), err, beside)
		}
	}
}

func TestAFileThatIsTakenAwayIsGoneOnDisk(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	if err := store.Open(datastore.Options{}).SetNotes(t.Context(), object(t, "vm/100"), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(datastore.Options{}).Protect(t.Context(), one, datastore.ProtectOptions{}); err != nil {
		t.Fatal(err)
	}
	for what, o := range map[string]operation{"notes": {name: "notes", object: "vm/100"}, ".protected": {name: "unprotect", object: one.String()}} {
		script := fsoptest.Record()
		if err := o.run(t.Context(), store.Dir, script.Disk(), nil); err != nil {
			t.Error(err)
		}
		changes := script.Changes()
		position(t, changes, position(t, changes, 0, fsop.OpRemove, what), fsop.OpSyncDir, "vm/100")
	}
}

func TestAProtectionEndsAtItsTimeAndNotAfterIt(t *testing.T) {
	t.Parallel()
	p := datastore.Protection{Protected: true, Until: first}
	for seconds, want := range map[time.Duration]bool{-1: false, 0: true, 1: true} {
		if got := p.Expired(time.Unix(int64(first), 0).Add(seconds * time.Second)); got != want {
			t.Errorf("%d seconds after it: %v", seconds, got)
		}
	}
}

func TestASnapshotThatIsUnfinishedWhenItsTurnComesIsNotFailed(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	one, two := store.Backup("vm/100", first, []byte("x")), store.Backup("vm/200", first, []byte("x"))
	var last datastore.Verdict
	opts := datastore.VerifyOptions{Snapshots: []backupinfo.Snapshot{one, two}}
	opts.Each = func(v datastore.SnapshotVerdict) {
		last = v.Verdict
		if v.Snapshot == one {
			if err := os.Remove(filepath.Join(store.Dir, two.Dir(), backupinfo.ManifestName)); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := store.Open(datastore.Options{}).Verify(t.Context(), opts); err != nil || last != datastore.VerdictUnfinished {
		t.Errorf("%s, %v", last, err)
	}
}

// A group on a disk of its own has its leftovers beside it: what they referred to goes after their rename is on disk.
func TestChunksGoAfterTheLeftoversBesideGroupsAreOnDisk(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, []byte("x"))
	putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
	if err := os.Mkdir(filepath.Join(store.Dir, "vm/100/.pbs-like-leftover-x"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := fsoptest.Record()
	if _, err := store.OpenWith(script.Disk()).Collect(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	changes := script.Changes()
	if position(t, changes, 0, fsop.OpSyncDir, "vm/100") > position(t, changes, 0, fsop.OpRemove, ".chunks") {
		t.Errorf("%v", changes)
	}
}
