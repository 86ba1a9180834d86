package datastore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// refusedUnchanged expects the error, and that nothing on the disk is another than before.
func refusedUnchanged(t *testing.T, store *testds.Store, class error, do func(*datastore.Datastore) error) {
	t.Helper()
	before := tree(t, store.Dir)
	err := do(store.Open(datastore.Options{}))
	if err == nil || class != nil && !errors.Is(err, class) {
		t.Errorf("got %v, want %v", err, class)
	}
	if after := tree(t, store.Dir); before != after {
		t.Errorf("changed from %q to %q", before, after)
	}
}

func moveGroup(ds *datastore.Datastore, from backupinfo.Group, to string, opts datastore.MoveOptions) error {
	_, err := ds.MoveGroup(context.Background(), from, namespace(to), opts)
	return err
}

func TestAGroupMovesWithItsOwnerItsNotesAndItsProtection(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ctx, ds, group := t.Context(), store.Open(datastore.Options{}), store.Group("vm/100")
	moving := store.Backup("vm/100", first, []byte("the disk"))
	store.Backup("vm/100", second, []byte("x"))
	makeNamespaces(store, "a/b")
	_, err := ds.Protect(ctx, moving, datastore.ProtectOptions{Reason: "why"})
	err = errors.Join(err, ds.SetNotes(ctx, backupinfo.Object{Group: group}, "notes"), ds.ChangeOwner(ctx, group, "new@pam", datastore.ChangeOwnerOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	before := tree(t, store.Dir)
	plan, err := ds.MoveGroup(ctx, group, namespace("a/b"), datastore.MoveOptions{DryRun: true})
	if err != nil || len(plan.Snapshots) != 2 || before != tree(t, store.Dir) {
		t.Errorf("a dry run: %v, %v", plan, err)
	}
	report, err := ds.MoveGroup(ctx, group, namespace("a/b"), datastore.MoveOptions{})
	if err != nil || len(report.Snapshots) != 2 || report.Merged || report.Snapshots[0].Dir() != "ns/a/ns/b/vm/100/"+first.String() {
		t.Fatalf("%+v, %v", report, err)
	}
	info, err := ds.Group(ctx, groupIn("a/b", "vm/100"))
	if err != nil || info.Owner != "new@pam" || info.Comment != "notes" || info.Count != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	if s, err := ds.Snapshot(ctx, report.Snapshots[0]); err != nil || !s.Protected {
		t.Errorf("%+v, %v", s, err)
	}
	if got := store.Restore(report.Snapshots[0], testds.ImageName); string(got) != "the disk" {
		t.Errorf("%q", got)
	}
	if _, err := ds.Group(ctx, group); !errors.Is(err, datastore.ErrNotFound) {
		t.Errorf("the group is still in its old place: %v", err)
	}
	// And back to the root, beside which nothing is left.
	if err := moveGroup(ds, groupIn("a/b", "vm/100"), "", datastore.MoveOptions{}); err != nil {
		t.Error(err)
	}
}

func TestAMoveThatCannotBeIsRefusedAndNothingHasChanged(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	group := store.Group("vm/100")
	store.Backup("vm/100", first, []byte("x"))
	backUpIn(store, "a", "vm/100", second)
	makeNamespaces(store, "b", "1/2/3/4/5/6")
	cases := map[string]struct {
		class error
		do    func(*datastore.Datastore) error
	}{
		"to where it is":  {datastore.ErrExists, func(ds *datastore.Datastore) error { return moveGroup(ds, group, "", datastore.MoveOptions{}) }},
		"to no namespace": {datastore.ErrNotFound, func(ds *datastore.Datastore) error { return moveGroup(ds, group, "nope", datastore.MoveOptions{}) }},
		"no group": {datastore.ErrNotFound, func(ds *datastore.Datastore) error {
			return moveGroup(ds, store.Group("vm/9"), "b", datastore.MoveOptions{})
		}},
		"over a group":        {datastore.ErrExists, func(ds *datastore.Datastore) error { return moveGroup(ds, group, "a", datastore.MoveOptions{}) }},
		"into itself":         {nil, moveNamespace("a", "a/c")},
		"onto itself":         {datastore.ErrExists, moveNamespace("a", "a")},
		"onto another":        {datastore.ErrExists, moveNamespace("a", "b")},
		"below none":          {datastore.ErrNotFound, moveNamespace("a", "nope/a")},
		"a missing namespace": {datastore.ErrNotFound, moveNamespace("nope", "c")},
		"the root":            {nil, moveNamespace("", "c")},
		"to the root":         {nil, moveNamespace("a", "")},
		"too deep":            {nil, moveNamespace("1/2", "b/c/d/e")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { refusedUnchanged(t, store, c.class, c.do) })
	}
	if err := moveNamespace("1/2", "b/c")(store.Open(datastore.Options{})); err != nil { // 1/2/3/4/5/6 becomes b/c/3/4/5/6
		t.Error(err)
	}
}

func moveNamespace(from, to string) func(*datastore.Datastore) error {
	return func(ds *datastore.Datastore) error {
		_, err := ds.MoveNamespace(context.Background(), namespace(from), namespace(to), datastore.MoveNamespaceOptions{})
		return err
	}
}

func TestAMergeThatWouldLoseSomethingIsRefusedAndNothingHasChanged(t *testing.T) {
	t.Parallel()
	merge := func(store *testds.Store) func(ds *datastore.Datastore) error {
		return func(ds *datastore.Datastore) error {
			return moveGroup(ds, store.Group("vm/100"), "a", datastore.MoveOptions{Merge: true})
		}
	}
	cases := map[string]struct {
		class  error
		spoil  func(t *testing.T, store *testds.Store)
		mended bool
	}{
		"one time twice": {class: datastore.ErrExists, spoil: func(_ *testing.T, store *testds.Store) { backUpIn(store, "a", "vm/100", third) }},
		"another owner": {class: datastore.ErrNotOwner, spoil: func(t *testing.T, store *testds.Store) {
			t.Helper()
			put(t, filepath.Join(store.Dir, "vm/100/owner"), "other@pam\n")
		}},
		"no owner": {spoil: func(t *testing.T, store *testds.Store) {
			t.Helper()
			put(t, filepath.Join(store.Dir, "vm/100/owner"), "")
		}},
		"other notes": {spoil: func(t *testing.T, store *testds.Store) {
			t.Helper()
			put(t, filepath.Join(store.Dir, "vm/100/notes"), "one")
			put(t, filepath.Join(store.Dir, "ns/a/vm/100/notes"), "two")
		}},
		"something unknown": {spoil: func(t *testing.T, store *testds.Store) {
			t.Helper()
			put(t, filepath.Join(store.Dir, "vm/100/mine.txt"), "x")
		}},
		"a link of the same time": {class: datastore.ErrExists, spoil: func(t *testing.T, store *testds.Store) {
			t.Helper()
			symlink(t, "/tmp", filepath.Join(store.Dir, "ns/a/vm/100", third.String()))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Damaged = true
			store.Backup("vm/100", first, []byte("x"))
			store.Backup("vm/100", third, []byte("x"))
			backUpIn(store, "a", "vm/100", second)
			c.spoil(t, store)
			refusedUnchanged(t, store, c.class, merge(store))
		})
	}
}

func TestAMergeKeepsAllSnapshotsAndTheNotesOfEither(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	store.Backup("vm/100", first, []byte("one"))
	store.Backup("vm/100", third, []byte("three"))
	backUpIn(store, "a", "vm/100", second)
	put(t, filepath.Join(store.Dir, "vm/100/notes"), "of the moving one")
	report, err := ds.MoveGroup(t.Context(), store.Group("vm/100"), namespace("a"), datastore.MoveOptions{Merge: true})
	if err != nil || !report.Merged || len(report.Snapshots) != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	info, err := ds.Group(t.Context(), groupIn("a", "vm/100"))
	if err != nil || info.Count != 3 || info.Comment != "of the moving one" || info.LastBackup != third {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := ds.Group(t.Context(), store.Group("vm/100")); !errors.Is(err, datastore.ErrNotFound) {
		t.Errorf("the empty group stays: %v", err)
	}
}

// TestAMergeThatFailsAnywhereHasChangedNothingOrMovedSnapshots and the notes are always in one of the groups.
func TestAMergeThatFailsAnywhereHasChangedNothingOrMovedSnapshots(t *testing.T) {
	t.Parallel()
	for script := range fsoptest.Failures(t, unix.EIO) {
		store := testds.New(t)
		store.Leftovers = true
		store.Backup("vm/100", first, []byte("one"))
		store.Backup("vm/100", third, []byte("three"))
		backUpIn(store, "a", "vm/100", second)
		put(t, filepath.Join(store.Dir, "vm/100/notes"), "kept")
		report, err := store.OpenWith(script.Disk()).MoveGroup(t.Context(), store.Group("vm/100"), namespace("a"), datastore.MoveOptions{Merge: true})
		source, _ := os.ReadFile(filepath.Join(store.Dir, "vm/100/notes"))
		target, _ := os.ReadFile(filepath.Join(store.Dir, "ns/a/vm/100/notes"))
		if moved := len(report.Snapshots); string(source) != "kept" && string(target) != "kept" || moved < 2 && len(target) > 0 {
			t.Errorf("%s: %d moved, notes %q and %q, %v", script, moved, source, target, err)
		}
		again, err := store.Open(datastore.Options{}).MoveGroup(t.Context(), store.Group("vm/100"), namespace("a"), datastore.MoveOptions{Merge: true})
		if err != nil && !errors.Is(err, datastore.ErrNotFound) {
			t.Errorf("%s: once more: %+v, %v", script, again, err)
		}
		if info, err := store.Open(datastore.Options{}).Group(t.Context(), groupIn("a", "vm/100")); err != nil || info.Count != 3 || info.Comment != "kept" {
			t.Errorf("%s: in the end: %+v, %v", script, info, err)
		}
	}
}

// TestTheMoveJournalHasTheNewPathsBeforeARename and none of them is renamed when it can't be written.
func TestTheMoveJournalHasTheNewPathsBeforeARename(t *testing.T) {
	t.Parallel()
	full := errors.New("the journal is full")
	for _, o := range []operation{
		{name: "move-group", object: "vm/100@a", data: "d"},
		{name: "merge-group", object: "vm/100@a", data: "c"},
		{name: "move-namespace", object: "a", data: "d/e"},
	} {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			inNamespaces(store)
			announced := map[string]bool{}
			var fail error
			disk := &fsop.Disk{Before: func(c fsop.Change) error {
				if c.Op == fsop.OpRename && !strings.Contains(c.To, "leftover") && len(announced) == 0 {
					t.Errorf("not announced: %s", c)
				}
				return nil
			}}
			ds := store.OpenWith(disk)
			ds.SetMoveJournal(func(_ context.Context, indexes []string) error {
				for _, index := range indexes {
					if _, err := os.Lstat(filepath.Join(store.Dir, index)); err == nil || filepath.IsAbs(index) {
						t.Errorf("%s: announced too late, or of no use: %v", index, err)
					}
					announced[index] = true
				}
				return fail
			})
			fail = full
			refusedBy(t, o, ds, full)
			clear(announced)
			fail = nil
			refusedBy(t, o, ds, nil)
			if len(announced) == 0 {
				t.Error("nothing was announced")
			}
			for index := range announced {
				if _, err := os.Lstat(filepath.Join(store.Dir, index)); err != nil {
					t.Errorf("announced, and not there: %v", err)
				}
			}
		})
	}
}

func refusedBy(t *testing.T, o operation, ds *datastore.Datastore, want error) {
	t.Helper()
	if err := o.on(t.Context(), ds, nil); !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", o.name, err, want)
	}
}

func TestAGroupOnADiskOfItsOwnIsNotMoved(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	backUpIn(store, "a", "vm/100", first)
	makeNamespaces(store, "b")
	mountAt(t, filepath.Join(store.Dir, "ns/b"))
	for name, do := range map[string]func(*datastore.Datastore) error{
		"to another disk": func(ds *datastore.Datastore) error {
			return moveGroup(ds, groupIn("a", "vm/100"), "b", datastore.MoveOptions{})
		},
		"a mount point": moveNamespace("b", "c"),
		"removing it": func(ds *datastore.Datastore) error {
			_, err := ds.RemoveNamespace(t.Context(), namespace("b"), datastore.RemoveNamespaceOptions{DeleteGroups: true})
			return err
		},
		"into it": moveNamespace("a", "b/a"),
	} {
		err := do(store.Open(datastore.Options{}))
		if err == nil || !strings.Contains(err.Error(), "file system") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAMoveSyncsBothParentsAfterItsRename in this order: the new place, then the old one.
func TestAMoveSyncsBothParentsAfterItsRename(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	inNamespaces(store)
	var changes []string
	disk := &fsop.Disk{After: func(c fsop.Change, err error) error {
		if c.Op == fsop.OpRename || c.Op == fsop.OpSyncDir {
			changes = append(changes, string(c.Op)+strings.TrimPrefix(c.Path, store.Dir))
		}
		return err
	}}
	if err := moveGroup(store.OpenWith(disk), groupIn("a", "vm/100"), "d", datastore.MoveOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"rename/ns/a/vm/100", "syncdir/ns/d/vm", "syncdir/ns/a/vm"}
	if !slices.Equal(changes, want) {
		t.Errorf("%q, want %q", changes, want)
	}
}

// TestAMergeThatIsCutOffGoesOnWithTheSameCall although some snapshots have moved.
func TestAMergeThatIsCutOffGoesOnWithTheSameCall(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	for i := range 5 {
		store.Backup("vm/100", first+backupinfo.Time(i), []byte("x"))
	}
	backUpIn(store, "a", "vm/100", third)
	ctx, cancel := context.WithCancel(t.Context())
	disk := &fsop.Disk{After: func(c fsop.Change, err error) error {
		if c.Op == fsop.OpRename {
			cancel()
		}
		return err
	}}
	report, err := store.OpenWith(disk).MoveGroup(ctx, store.Group("vm/100"), namespace("a"), datastore.MoveOptions{Merge: true})
	if !errors.Is(err, context.Canceled) || len(report.Snapshots) != 1 || !strings.Contains(err.Error(), "1 of 5 snapshots") {
		t.Errorf("%+v, %v", report, err)
	}
	report, err = store.Open(datastore.Options{}).MoveGroup(t.Context(), store.Group("vm/100"), namespace("a"), datastore.MoveOptions{Merge: true})
	if err != nil || len(report.Snapshots) != 4 || len(store.Finished()) != 6 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestARenameThatIsDoneAndReportedAsFailedIsInTheReport as over a network.
func TestARenameThatIsDoneAndReportedAsFailedIsInTheReport(t *testing.T) {
	t.Parallel()
	for script := range fsoptest.Failures(t, unix.EIO) {
		store := testds.New(t)
		store.Leftovers = true
		inNamespaces(store)
		report, err := store.OpenWith(script.Disk()).MoveNamespace(t.Context(), namespace("a"), namespace("d/e"), datastore.MoveNamespaceOptions{})
		moved := hasNamespace("d/e")(store) == 1
		if moved != (len(report.Namespaces) == 2) {
			t.Errorf("%s: moved is %v, and the report is %+v, %v", script, moved, report, err)
		}
	}
}
