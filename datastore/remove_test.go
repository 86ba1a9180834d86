package datastore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func TestTheGroupGoesWithItsLastSnapshot(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	two := store.Backup("vm/100", second, []byte("y"))
	ds := store.Open(datastore.Options{})
	report, err := ds.RemoveSnapshot(t.Context(), one, datastore.RemoveOptions{})
	if err != nil || len(report.Snapshots) != 1 || len(report.Groups) != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	report, err = ds.RemoveSnapshot(t.Context(), two, datastore.RemoveOptions{})
	if err != nil || len(report.Snapshots) != 1 || len(report.Groups) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, err := ds.RemoveSnapshot(t.Context(), two, datastore.RemoveOptions{}); !errors.Is(err, datastore.ErrNotFound) {
		t.Errorf("removed again: %v", err)
	}
	// Another owner can have the group now.
	w, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: first, Owner: "other@pam"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestAnUnknownFileKeepsTheEmptyGroup(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	put(t, filepath.Join(store.Dir, "vm/100/readme"), "mine")
	report, err := store.Open(datastore.Options{}).RemoveSnapshot(t.Context(), one, datastore.RemoveOptions{})
	if err != nil || len(report.Groups) != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, name := range []string{"owner", "readme"} {
		if _, err := os.Stat(filepath.Join(store.Dir, "vm/100", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestProtectedSnapshotsStay(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	two := store.Backup("vm/100", second, []byte("y"))
	put(t, filepath.Join(store.Dir, one.Dir(), ".protected"), "")
	ds := store.Open(datastore.Options{})
	for _, force := range []bool{false, true} {
		if _, err := ds.RemoveSnapshot(t.Context(), one, datastore.RemoveOptions{Force: force}); !errors.Is(err, datastore.ErrProtected) {
			t.Errorf("force %v: %v", force, err)
		}
		if _, err := ds.RemoveGroup(t.Context(), one.Group, datastore.RemoveGroupOptions{Force: force}); !errors.Is(err, datastore.ErrProtected) {
			t.Errorf("group, force %v: %v", force, err)
		}
	}
	if got := store.Snapshots(); len(got) != 2 {
		t.Fatalf("%v", got)
	}
	report, err := ds.RemoveGroup(t.Context(), one.Group, datastore.RemoveGroupOptions{KeepProtected: true})
	if err != nil || len(report.Groups) != 0 || len(report.Snapshots) != 1 || report.Snapshots[0] != two || len(report.Protected) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := store.Snapshots(); len(got) != 1 || got[0].Snapshot != one || got[0].Owner != backupinfo.DefaultOwner {
		t.Errorf("%v", got)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	ds := store.Open(datastore.Options{})
	report, err := ds.RemoveSnapshot(t.Context(), one, datastore.RemoveOptions{DryRun: true})
	if err != nil || len(report.Snapshots) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	report, err = ds.RemoveGroup(t.Context(), one.Group, datastore.RemoveGroupOptions{DryRun: true})
	if err != nil || len(report.Snapshots) != 1 || len(report.Groups) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := store.Snapshots(); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestASymbolicLinkInAGroupIsUnlinkedAndNotFollowed(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, []byte("x"))
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(outside, "precious"), "data")
	if err := os.Symlink(outside, filepath.Join(store.Dir, "vm/100/2026-01-03T03:04:05Z")); err != nil {
		t.Fatal(err)
	}
	report, err := store.Open(datastore.Options{}).RemoveGroup(t.Context(), store.Group("vm/100"), datastore.RemoveGroupOptions{})
	if err != nil || len(report.Groups) != 1 || len(report.Other) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(store.Dir, "vm/100")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the group is still there")
	}
}

// unfinished makes a snapshot without manifest, as a foreign writer leaves it.
func unfinished(t *testing.T, store *testds.Store, at backupinfo.Time, changed time.Time) backupinfo.Snapshot {
	t.Helper()
	snapshot := backupinfo.Snapshot{Group: store.Group("vm/100"), Time: at}
	dir := filepath.Join(store.Dir, snapshot.Dir())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "disk.tmp_fidx"), "half")
	if err := os.Chtimes(dir, changed, changed); err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func TestTheFreshUnfinishedSnapshotOfAForeignWriterIsNotRemoved(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	store.Backup("vm/100", first, []byte("x"))
	snapshot := unfinished(t, store, second, time.Now().Add(-30*24*time.Hour)) // its change time is now all the same
	ds := store.Open(datastore.Options{})
	if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); !errors.Is(err, datastore.ErrUnfinished) {
		t.Errorf("%v", err)
	}
	if _, err := ds.RemoveGroup(t.Context(), snapshot.Group, datastore.RemoveGroupOptions{}); !errors.Is(err, datastore.ErrUnfinished) {
		t.Errorf("%v", err)
	}
	if got := store.Snapshots(); len(got) != 2 {
		t.Errorf("%v", got)
	}
	report, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{Force: true})
	if err != nil || len(report.Snapshots) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestWhatIsMissingIsNotFoundAndNeverLocked(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, []byte("x"))
	ds := store.Open(datastore.Options{})
	nowhere, _ := backupinfo.ParseNamespace("nope")
	for _, snapshot := range []backupinfo.Snapshot{
		{Group: store.Group("vm/100"), Time: second},
		{Group: store.Group("vm/999"), Time: first},
		{Group: backupinfo.Group{Namespace: nowhere, Type: backupinfo.VM, ID: "100"}, Time: first},
	} {
		_, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{})
		if !errors.Is(err, datastore.ErrNotFound) {
			t.Errorf("remove %v: %v", snapshot.Dir(), err)
		}
		if _, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{}); !errors.Is(err, datastore.ErrNotFound) {
			t.Errorf("open %v: %v", snapshot.Dir(), err)
		}
		if snapshot.Group.ID == "100" && snapshot.Group.Namespace.IsRoot() {
			continue
		}
		if _, err := ds.RemoveGroup(t.Context(), snapshot.Group, datastore.RemoveGroupOptions{}); !errors.Is(err, datastore.ErrNotFound) {
			t.Errorf("remove group %v: %v", snapshot.Group.Dir(), err)
		}
	}
}

// TestSomethingElseUnderTheNameOfTheHiddenDirectoryStopsNothing goes on beside it, and names it.
func TestSomethingElseUnderTheNameOfTheHiddenDirectoryStopsNothing(t *testing.T) {
	t.Parallel()
	for what, make := range map[string]func(name string) error{
		"a file": func(name string) error { return os.WriteFile(name, nil, 0o644) },
		"a pipe": func(name string) error { return unix.Mkfifo(name, 0o644) },
		"a link": func(name string) error { return os.Symlink("/tmp", name) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			stray := filepath.Join(store.Dir, ".pbs-like-leftover")
			if err := make(stray); err != nil {
				t.Fatal(err)
			}
			one := store.Backup("vm/100", first, image(t, "xs64:1:100"))
			store.Backup("vm/100", second, image(t, "xs64:1:100"))
			var notices []string
			ds := store.Open(datastore.Options{Events: datastore.Events{Notice: func(n datastore.Notice) { notices = append(notices, n.Object+" "+n.Text) }}})
			_, err := ds.RemoveSnapshot(t.Context(), one, datastore.RemoveOptions{})
			if err != nil || len(notices) != 1 || !strings.HasPrefix(notices[0], ".pbs-like-leftover is no directory") {
				t.Errorf("%v, %q", err, notices)
			}
			if _, err := ds.RemoveGroup(t.Context(), one.Group, datastore.RemoveGroupOptions{}); err != nil {
				t.Error(err)
			}
			if len(store.Snapshots()) != 0 {
				t.Error("not removed")
			}
			if _, err := os.Lstat(stray); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWhatIsNoDirectoryUnderALeftoversNameIsUnlinkedInTheEnd neither follows nor opens it.
func TestWhatIsNoDirectoryUnderALeftoversNameIsUnlinkedInTheEnd(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Leftovers = true
	outside := filepath.Join(t.TempDir(), "outside")
	put(t, outside, "x")
	name := filepath.Join(store.Dir, ".pbs-like-leftover", ".pbs-like-leftover-")
	err := errors.Join(os.Mkdir(filepath.Dir(name), 0o755), unix.Mkfifo(name+"pipe", 0o644), os.Symlink(outside, name+"link"), os.WriteFile(name+"file", nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	for _, removed := range []int{0, 3} {
		if report := collect(t, store, nothing); report.RemovedLeftovers != removed {
			t.Errorf("%d removed instead of %d", report.RemovedLeftovers, removed)
		}
		names, err := os.ReadDir(filepath.Dir(name))
		if err != nil || len(names) != 3-removed {
			t.Errorf("%v, %v", names, err)
		}
		old := unix.NsecToTimespec(time.Now().Add(-2 * time.Hour).UnixNano())
		for _, entry := range names {
			if err := unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(filepath.Dir(name), entry.Name()), []unix.Timespec{old, old}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func put(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
