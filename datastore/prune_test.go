package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func keepLast(n int) datastore.PruneOptions {
	return datastore.PruneOptions{Keep: backupinfo.KeepOptions{Last: n}}
}

// daily makes n snapshots of a group, a day apart, and gives them oldest first.
func daily(store *testds.Store, group string, n int) (list []backupinfo.Snapshot) {
	for i := range n {
		list = append(list, store.Backup(group, first+backupinfo.Time(i)*day, []byte(fmt.Sprint(i))))
	}
	return list
}

// outcomes are those of a report, oldest first.
func outcomes(report datastore.PruneReport) string {
	var words []string
	for _, s := range slices.Backward(report.Snapshots) {
		words = append(words, string(s.Outcome))
	}
	return strings.Join(words, " ")
}

func prune(t *testing.T, store *testds.Store, opts datastore.PruneOptions) datastore.PruneReport {
	t.Helper()
	report, err := store.Open(datastore.Options{}).Prune(t.Context(), store.Group("vm/100"), opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestPruningRemovesWhatNoRuleKeeps(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	list := daily(store, "vm/100", 5)
	dry := keepLast(2)
	dry.DryRun = true
	want := "removed removed removed kept kept"
	if got := outcomes(prune(t, store, dry)); got != want || len(store.Finished()) != 5 {
		t.Errorf("dry run: %s, %d left", got, len(store.Finished()))
	}
	report := prune(t, store, keepLast(2))
	if got := outcomes(report); got != want || report.GroupRemoved || report.Count(datastore.PruneRemoved) != 3 {
		t.Errorf("%+v", report)
	}
	if got := report.Snapshots[0].Reasons; !slices.Equal(got, []backupinfo.KeepReason{backupinfo.ForLast}) {
		t.Errorf("kept for %q", got)
	}
	if got := store.Finished(); !slices.Equal(got, list[3:]) {
		t.Errorf("left: %v", got)
	}
	if got := outcomes(prune(t, store, keepLast(2))); got != "kept kept" {
		t.Errorf("again: %s", got)
	}
}

func TestWithoutARuleNothingIsRemoved(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	daily(store, "vm/100", 3)
	unfinished(t, store, second+1, time.Now())
	report := prune(t, store, datastore.PruneOptions{})
	if got := outcomes(report); got != "kept kept kept kept" {
		t.Error(got)
	}
	for _, s := range report.Snapshots {
		if !s.Keep() {
			t.Errorf("%s is marked %s", s.Snapshot, s.Mark)
		}
	}
}

func TestProtectedSnapshotsStayAndCountForNoRule(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	list := daily(store, "vm/100", 4)
	ds := store.Open(datastore.Options{})
	for _, s := range []backupinfo.Snapshot{list[0], list[3]} {
		if _, err := ds.Protect(t.Context(), s, datastore.ProtectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	report := prune(t, store, keepLast(1))
	if got := outcomes(report); got != "kept removed kept kept" || report.Snapshots[0].Mark != backupinfo.MarkProtected {
		t.Errorf("%s, %+v", got, report.Snapshots[0])
	}
}

func TestASnapshotThatIsReadStaysAndTheOthersGo(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	list := daily(store, "vm/100", 4)
	ds := store.Open(datastore.Options{})
	reader, err := ds.OpenSnapshot(t.Context(), list[1], datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	dry := keepLast(1)
	dry.DryRun = true
	for _, opts := range []datastore.PruneOptions{dry, keepLast(1)} {
		report := prune(t, store, opts)
		busy := report.Snapshots[2]
		if got := outcomes(report); got != "removed busy removed kept" || !errors.Is(busy.Err, flock.ErrLocked) || !busy.Outcome.Stays() {
			t.Errorf("%s, %+v", got, busy)
		}
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if got := outcomes(prune(t, store, keepLast(1))); got != "removed kept" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestABusySnapshotIsWaitedForWhenTheOthersAreGone(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	list := daily(store, "vm/100", 4)
	reader, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), list[0], datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var left int
	ds := store.Open(datastore.Options{LockWait: time.Minute, Events: datastore.Events{Waiting: func(error) {
		entries, _ := os.ReadDir(filepath.Join(store.Dir, "vm/100"))
		left = len(entries)
		_ = reader.Close()
	}}})
	report, err := ds.Prune(t.Context(), store.Group("vm/100"), keepLast(1))
	if got := outcomes(report); err != nil || got != "removed removed removed kept" || left != 3 { // owner, busy, kept
		t.Errorf("%s, %v, %d entries when waiting began", got, err, left)
	}
}

// The case of the good one, the one left behind, the one being written, and the
// one left behind that is newer than all.
func TestUnfinishedSnapshotsCountForNothingAndLiveOnesStay(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged, store.Leftovers = true, true // as the test makes them
	ds := store.Open(datastore.Options{})
	store.Backup("vm/100", first, []byte("good"))
	broken := unfinished(t, store, second, time.Now())
	ours := filepath.Join(store.Dir, broken.Dir(), ".pbs-like-writer")
	put(t, ours, "") // so its locks are the answer
	w, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: third})
	if err != nil {
		t.Fatal(err)
	}
	newest := unfinished(t, store, third+day, time.Now())
	put(t, filepath.Join(store.Dir, newest.Dir(), ".pbs-like-writer"), "")
	// The group is locked by the backup, so nothing unfinished can be told apart.
	if got := outcomes(prune(t, store, keepLast(1))); got != "kept busy busy kept" {
		t.Errorf("during the backup: %s", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := outcomes(prune(t, store, keepLast(1))); got != "kept removed kept" {
		t.Errorf("after the backup: %s", got)
	}
}

func TestTheFreshUnfinishedSnapshotOfAForeignWriterIsBusy(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	store.Backup("vm/100", second, []byte("x"))
	unfinished(t, store, first, time.Now())
	report := prune(t, store, keepLast(1))
	if s := report.Snapshots[1]; s.Outcome != datastore.PruneBusy || !errors.Is(s.Err, datastore.ErrUnfinished) {
		t.Errorf("%+v", s)
	}
}

// interfere calls act right before the first change that pruning makes.
func interfere(act func()) *fsop.Disk {
	done := false
	return &fsop.Disk{Before: func(fsop.Change) error {
		if !done {
			done = true
			act()
		}
		return nil
	}}
}

func TestWhatChangesWhilePruningRunsIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true // a snapshot is put together by hand
	list := daily(store, "vm/100", 5)
	// While the first is being removed, the second is protected, the third
	// removed by somebody else, and a leftover in its place becomes finished.
	disk := interfere(func() {
		put(t, filepath.Join(store.Dir, list[1].Dir(), ".protected"), "")
		if err := os.RemoveAll(filepath.Join(store.Dir, list[2].Dir())); err != nil {
			t.Error(err)
		}
	})
	report, err := store.OpenWith(disk).Prune(t.Context(), store.Group("vm/100"), keepLast(1))
	if got := outcomes(report); err != nil || got != "removed changed vanished removed kept" {
		t.Errorf("%s, %v", got, err)
	}
	if s := report.Snapshots[3]; !s.Protected || !errors.Is(s.Err, datastore.ErrProtected) {
		t.Errorf("%+v", s)
	}
}

func TestALeftoverThatTurnsOutToBeFinishedStays(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	first := store.Backup("vm/100", first, []byte("x"))
	broken := unfinished(t, store, second, time.Now())
	put(t, filepath.Join(store.Dir, broken.Dir(), ".pbs-like-writer"), "")
	store.Backup("vm/100", third, []byte("y"))
	disk := interfere(func() { put(t, filepath.Join(store.Dir, broken.Dir(), "index.json.blob"), "") })
	report, err := store.OpenWith(disk).Prune(t.Context(), first.Group, keepLast(1))
	if got := outcomes(report); err != nil || got != "removed changed kept" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestPruningStopsWhereWhatItKeepsIsTakenAway(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	list := daily(store, "vm/100", 40) // more than one batch
	disk := interfere(func() {
		if err := os.RemoveAll(filepath.Join(store.Dir, list[39].Dir())); err != nil {
			t.Error(err)
		}
	})
	report, err := store.OpenWith(disk).Prune(t.Context(), store.Group("vm/100"), keepLast(1))
	if err == nil || !strings.Contains(err.Error(), "was to be kept") || report.Count(datastore.PruneRemoved) != 32 {
		t.Errorf("%d removed, %v", report.Count(datastore.PruneRemoved), err)
	}
	if got := store.Finished(); !slices.Equal(got, list[32:39]) {
		t.Errorf("%v", got)
	}
}

// One is locked, one gone between listing and removal, one resists.
func TestEachSnapshotHasItsOwnOutcome(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	list := daily(store, "vm/100", 11)
	reader, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), list[2], datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	gone := false
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if !gone {
			gone = true
			return os.RemoveAll(filepath.Join(store.Dir, list[5].Dir()))
		}
		if c.Op == fsop.OpRename && strings.Contains(c.Path, list[7].Time.String()) {
			return unix.EROFS
		}
		return nil
	}}
	report, err := store.OpenWith(disk).Prune(t.Context(), store.Group("vm/100"), keepLast(1))
	if !errors.Is(err, unix.EROFS) || report.Count(datastore.PruneRemoved) != 7 || report.Count(datastore.PruneBusy) != 1 ||
		report.Count(datastore.PruneVanished) != 1 || report.Count(datastore.PruneFailed) != 1 || report.Count(datastore.PruneKept) != 1 {
		t.Errorf("%s, %v", outcomes(report), err)
	}
	if got := len(store.Finished()); got != 3 {
		t.Errorf("%d left", got)
	}
}

func TestAnInterruptedPruningLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	list := daily(store, "vm/100", 6)
	ctx, cancel := context.WithCancel(t.Context())
	report, err := store.OpenWith(interfere(cancel)).Prune(ctx, store.Group("vm/100"), keepLast(1))
	if got := outcomes(report); !errors.Is(err, context.Canceled) || got != "removed kept kept kept kept kept" {
		t.Errorf("%s, %v", got, err)
	}
	if got := store.Finished(); !slices.Equal(got, list[1:]) {
		t.Errorf("%v", got)
	}
}

func TestAnEmptyGroupIsTidiedAway(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	list := daily(store, "vm/100", 1)
	if err := os.RemoveAll(filepath.Join(store.Dir, list[0].Dir())); err != nil {
		t.Fatal(err)
	}
	if report := prune(t, store, keepLast(1)); !report.GroupRemoved {
		t.Errorf("%+v", report)
	}
	if _, err := store.Open(datastore.Options{}).Prune(t.Context(), store.Group("vm/100"), keepLast(1)); !errors.Is(err, datastore.ErrNotFound) {
		t.Error(err)
	}
}

func TestPruningSyncsOncePerBatch(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	daily(store, "vm/100", 33)
	script := fsoptest.Record()
	if _, err := store.OpenWith(script.Disk()).Prune(t.Context(), store.Group("vm/100"), keepLast(1)); err != nil {
		t.Fatal(err)
	}
	syncs := 0
	for _, c := range script.Changes() {
		if c.Op == fsop.OpSyncDir {
			syncs++
		}
	}
	if syncs != 2 { // the group, and the place to where they go
		t.Errorf("%d syncs", syncs)
	}
}

// Each needs the lock of the group, which one pruning must not refuse to itself.
func TestSeveralLeftoversGoInOnePruning(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", third+day, []byte("x"))
	for _, at := range []backupinfo.Time{first, second, third} {
		broken := unfinished(t, store, at, time.Now())
		put(t, filepath.Join(store.Dir, broken.Dir(), ".pbs-like-writer"), "")
	}
	if got := outcomes(prune(t, store, keepLast(1))); got != "removed removed removed kept" {
		t.Error(got)
	}
}
