package datastore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func createNamespace(name string, parents bool) func(*datastore.Datastore) error {
	return func(ds *datastore.Datastore) error {
		return ds.CreateNamespace(context.Background(), namespace(name), datastore.CreateNamespaceOptions{Parents: parents})
	}
}

func removeNamespace(name string, opts datastore.RemoveNamespaceOptions) func(*datastore.Datastore) error {
	return func(ds *datastore.Datastore) error {
		_, err := ds.RemoveNamespace(context.Background(), namespace(name), opts)
		return err
	}
}

func TestANamespaceIsMadeBelowOneThatIsThere(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	refusedUnchanged(t, store, datastore.ErrNotFound, createNamespace("a/b", false))
	refusedUnchanged(t, store, datastore.ErrExists, createNamespace("", true))
	ds := store.Open(datastore.Options{})
	for _, err := range []error{createNamespace("a", false)(ds), createNamespace("a/b", false)(ds), createNamespace("1/2/3/4/5/6/7", true)(ds)} {
		if err != nil {
			t.Error(err)
		}
	}
	refusedUnchanged(t, store, datastore.ErrExists, createNamespace("a/b", false))
	refusedUnchanged(t, store, datastore.ErrExists, createNamespace("a/b", true))
	if got := allNamespaces(store); len(got) != 9 || got[8] != "a/b" {
		t.Errorf("%q", got)
	}
	root, err := os.Stat(store.Dir)
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.Stat(filepath.Join(store.Dir, "ns/a/ns/b"))
	if err != nil || made.Mode().Perm() != 0o755 || owner(made) != owner(root) {
		t.Errorf("%v, %v", made, err)
	}
}

func TestANamespaceWithGroupsIsRemovedOnlyWhenThatIsSaid(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	inNamespaces(store)
	all := datastore.RemoveNamespaceOptions{DeleteGroups: true}
	refusedUnchanged(t, store, datastore.ErrNotEmpty, removeNamespace("a", datastore.RemoveNamespaceOptions{}))
	refusedUnchanged(t, store, datastore.ErrNotEmpty, removeNamespace("a/b", datastore.RemoveNamespaceOptions{}))
	refusedUnchanged(t, store, datastore.ErrNotFound, removeNamespace("nope", all))
	refusedUnchanged(t, store, nil, removeNamespace("", all))
	before := tree(t, store.Dir)
	ds := store.Open(datastore.Options{})
	plan, err := ds.RemoveNamespace(t.Context(), namespace("a"), datastore.RemoveNamespaceOptions{DeleteGroups: true, DryRun: true})
	if err != nil || len(plan.Namespaces) != 2 || len(plan.Groups) != 2 || len(plan.Snapshots) != 3 || before != tree(t, store.Dir) {
		t.Errorf("a dry run: %+v, %v", plan, err)
	}
	report, err := ds.RemoveNamespace(t.Context(), namespace("a"), all)
	if err != nil || len(report.Namespaces) != 2 || len(report.Groups) != 2 || len(report.Snapshots) != 3 {
		t.Errorf("%+v, %v", report, err)
	}
	if err := removeNamespace("d", datastore.RemoveNamespaceOptions{})(ds); err != nil {
		t.Error(err)
	}
	if got := allNamespaces(store); !slices.Equal(got, []string{"c"}) {
		t.Errorf("%q", got)
	}
}

func TestARemovedNamespaceKeepsWhatIsProtected(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	inNamespaces(store)
	kept := backupinfo.Snapshot{Group: groupIn("a/b", "ct/1"), Time: first}
	backUpIn(store, "a/b", "ct/1", second)
	backUpIn(store, "a/b", "ct/2", second)
	backUpIn(store, "a/b/x/y", "ct/1", second)
	ds := store.Open(datastore.Options{})
	if _, err := ds.Protect(t.Context(), kept, datastore.ProtectOptions{}); err != nil {
		t.Fatal(err)
	}
	opts := datastore.RemoveNamespaceOptions{DeleteGroups: true}
	refusedUnchanged(t, store, datastore.ErrProtected, removeNamespace("a", opts))
	opts.Force = true
	refusedUnchanged(t, store, datastore.ErrProtected, removeNamespace("a", opts))
	report, err := ds.RemoveNamespace(t.Context(), namespace("a"), datastore.RemoveNamespaceOptions{DeleteGroups: true, KeepProtected: true})
	if err != nil || len(report.Namespaces) != 2 || len(report.Groups) != 3 || len(report.Snapshots) != 5 || !slices.Equal(report.Protected, []backupinfo.Snapshot{kept}) {
		t.Errorf("%+v, %v", report, err)
	}
	if got := allNamespaces(store); !slices.Equal(got, []string{"a", "a/b", "c", "d"}) {
		t.Errorf("%q", got)
	}
	if got := store.Finished(); len(got) != 2 || got[0] != kept {
		t.Errorf("%v", got)
	}
}

func TestWhatIsNoPartOfANamespaceKeepsIt(t *testing.T) {
	t.Parallel()
	for name, plant := range plants {
		for _, place := range []string{"ns/a/mine", "ns/a/vm/-bad", "ns/a/ns/-bad"} {
			t.Run(name+" as "+place, func(t *testing.T) {
				t.Parallel()
				store := testds.New(t)
				store.Damaged = true
				inNamespaces(store)
				plant(t, filepath.Join(store.Dir, place))
				refusedUnchanged(t, store, nil, removeNamespace("a", datastore.RemoveNamespaceOptions{DeleteGroups: true}))
			})
		}
	}
}

// TestALinkInTheWayIsNeverFollowed neither by what makes a namespace, nor by what removes or moves one.
func TestALinkInTheWayIsNeverFollowed(t *testing.T) {
	t.Parallel()
	all := datastore.RemoveNamespaceOptions{DeleteGroups: true}
	cases := map[string][]func(*datastore.Datastore) error{
		"ns/link": {
			createNamespace("link", true), createNamespace("link/below", true), removeNamespace("link", all),
			moveNamespace("link", "x"), moveNamespace("a", "link"), moveNamespace("a", "link/x"), moveToNamespace("link"),
		},
		"ns/d/ns":     {createNamespace("d/x", true), moveNamespace("a", "d/x"), removeNamespace("d", all)},
		"ns/d/vm":     {moveToNamespace("d"), removeNamespace("d", all)},
		"ns/d/vm/100": {moveToNamespace("d")},
	}
	for link, operations := range cases {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			store, outside := testds.New(t), testds.New(t)
			store.Damaged = true
			inNamespaces(store)
			backUpIn(outside, "below", "vm/100", first)
			if err := os.MkdirAll(filepath.Dir(filepath.Join(store.Dir, link)), 0o755); err != nil {
				t.Fatal(err)
			}
			symlink(t, outside.Dir, filepath.Join(store.Dir, link))
			before := tree(t, outside.Dir)
			for _, do := range operations {
				refusedUnchanged(t, store, nil, do)
			}
			if tree(t, outside.Dir) != before {
				t.Error("what the link leads to was changed")
			}
		})
	}
}

// moveToNamespace moves a group there, by rename or by merge.
func moveToNamespace(target string) func(*datastore.Datastore) error {
	return func(ds *datastore.Datastore) error {
		for _, merge := range []bool{false, true} {
			if err := moveGroup(ds, groupIn("a", "vm/100"), target, datastore.MoveOptions{Merge: merge}); err == nil {
				return nil
			}
		}
		return errors.New("refused")
	}
}

// TestARemovalOfANamespaceNeedsADescriptorForEachLock and refuses before anything is touched where it can't have them.
func TestARemovalOfANamespaceNeedsADescriptorForEachLock(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	manySnapshots(t, store, 300, first)
	makeNamespaces(store, "a/b")
	ds := store.Open(datastore.Options{})
	if err := errors.Join(moveGroup(ds, store.Group("vm/100"), "a/b", datastore.MoveOptions{})); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"remove-namespace", "move-namespace"} {
		line := helperproc.Start(t, "namespace with limit", store.Dir, role, "256").Line()
		if !strings.Contains(line, "256") || !strings.Contains(line, "limit") {
			t.Errorf("%s with a hard limit that is too low: %s", role, line)
		}
	}
	if got := len(store.Snapshots()); got != 300 {
		t.Errorf("%d are left", got)
	}
	helperproc.Start(t, "namespace with limit", store.Dir, "move-namespace", "1000").Expect("done")
	helperproc.Start(t, "namespace with limit", store.Dir, "remove-namespace", "1000").Expect("error: \"namespace \\\"a\\\" does not exist\"")
}

// namespaceWithLimit does something with namespace a under this hard limit of open files.
func namespaceWithLimit(ctx context.Context, args []string, pipe *helperproc.IO) error {
	limit, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(limit, 256), Max: limit}); err != nil {
		return err
	}
	return operate(ctx, []string{args[0], "record", args[1], "a", "0", "x"}, pipe)
}

func owner(info os.FileInfo) [2]uint32 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return [2]uint32{}
	}
	return [2]uint32{stat.Uid, stat.Gid}
}
