package datastore_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/pbsrun"
)

// strayLockFiles are the lock files whose names are those of nothing in the store.
func (s *servedStore) strayLockFiles() (stray []string) {
	s.T.Helper()
	known := map[string]bool{"move-journal": true}
	for _, info := range s.Snapshots() {
		snapshot := info.Snapshot
		ns := snapshot.Group.Namespace.String()
		known[pbsrun.LockName(ns, snapshot.Group.String())] = true
		known[pbsrun.LockName(ns, snapshot.String())] = true
		known[pbsrun.ManifestLockName(ns, snapshot.String())] = true
		known[pbsrun.OldManifestLockName(snapshot.Dir())] = true
	}
	for _, name := range s.lockFiles() {
		if !known[name] {
			stray = append(stray, name)
		}
	}
	return stray
}

// everyLockFile has all locks of all snapshots taken once, so that their files are there.
func (s *servedStore) everyLockFile() {
	s.T.Helper()
	for _, info := range s.Snapshots() {
		snapshot := info.Snapshot
		if err := s.open().SetNotes(s.T.Context(), backupinfo.Object{Group: snapshot.Group, Time: snapshot.Time, IsSnapshot: true}, "x"); err != nil {
			s.T.Fatal(err)
		}
	}
}

// movesBeside are moves, in an order in which each one can be, and those that are refused.
var movesBeside = []struct {
	operation
	refused bool
}{
	{operation{name: "merge-group", object: "vm/100", data: "a"}, true}, // which has the same time
	{operation{name: "move-group", object: "vm/300", data: "b"}, true},
	{operation{name: "move-group", object: "vm/100", data: "b"}, false},
	{operation{name: "merge-group", object: "vm/300", data: "b"}, false},
	{operation{name: "move-namespace", object: "a", data: "b"}, true},
	{operation{name: "move-namespace", object: "a", data: "b/c"}, false},
	{operation{name: "move-namespace", object: "b", data: "d"}, false},
}

func TestTheLockFilesOfOldNamesGoWithAMove(t *testing.T) {
	t.Parallel()
	for _, style := range []style{newServer, markedServer} {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			store := serve(t, matrixStore(t), style)
			for _, o := range movesBeside {
				store.everyLockFile()
				if len(store.lockFiles()) < 5 {
					t.Fatalf("too few to tell: %q", store.lockFiles())
				}
				if err := store.do(o.operation); (err != nil) != o.refused {
					t.Errorf("%s: %v", o, err)
				}
				if stray := store.strayLockFiles(); len(stray) > 0 {
					t.Errorf("%s leaves %q", o, stray)
				}
			}
			if left, err := filepath.Glob(store.locksFile("vm/*")); err != nil || len(left) > 0 {
				t.Errorf("directories of old locks: %q, %v", left, err)
			}
		})
	}
}

func TestAMoveThatIsOnlyPlannedOrFailsLeavesNoLockFileOfTheNewNames(t *testing.T) {
	t.Parallel()
	store := serve(t, matrixStore(t), newServer)
	_, err := store.open().MoveGroup(t.Context(), store.Group("vm/100"), namespace("b"), datastore.MoveOptions{DryRun: true})
	if stray := store.strayLockFiles(); err != nil || len(stray) > 0 {
		t.Errorf("a dry run: %v, leaves %q", err, stray)
	}
	for script := range fsoptest.Failures(t, unix.ENOSPC) {
		failing := serve(t, matrixStore(t), newServer)
		o := starting["move namespace"]
		o.server = failing.place
		if err := os.MkdirAll(failing.locksFile(""), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := o.run(t.Context(), failing.Dir, script.Disk(), nil); err == nil || strings.Contains(script.String(), "locks") {
			continue // the failure was in a lock file itself, which may stay
		}
		if stray := failing.strayLockFiles(); len(stray) > 0 {
			t.Errorf("%s leaves %q", script, stray)
		}
	}
}

// operateWithLimit is operate under a hard limit of open files.
func operateWithLimit(ctx context.Context, args []string, pipe *helperproc.IO) error {
	limit, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(limit, 256), Max: limit}); err != nil {
		return err
	}
	return operate(ctx, args[1:], pipe)
}

// TestAMoveBesideAServerNeedsThreeDescriptorsForEachSnapshot of which the third, of
// the new name, is not one that a removal needs.
func TestAMoveBesideAServerNeedsThreeDescriptorsForEachSnapshot(t *testing.T) {
	t.Parallel()
	const count = 400
	store := serve(t, matrixStore(t), newServer)
	manySnapshots(t, store.Store, count, third)
	for _, o := range []operation{{name: "move-group", object: "vm/100", data: "d"}, {name: "move-namespace", object: "d", data: "e"}} {
		makeNamespaces(store.Store, "d")
		o.server = store.place
		limited := func(limit int) *helperproc.Proc {
			return helperproc.Start(t, "operate with limit", append([]string{strconv.Itoa(limit)}, o.arguments(store.Store, "record")...)...)
		}
		before := tree(t, store.Dir)
		if line := limited(2*count + 200).Line(); !strings.Contains(line, "limit") || !strings.Contains(line, "ulimit") {
			t.Errorf("%s, with a hard limit that is too low: %s", o, line)
		}
		if tree(t, store.Dir) != before {
			t.Errorf("%s: something has changed", o)
		}
		limited(3*count + 200).Expect("done")
	}
	if entries, err := os.ReadDir(filepath.Join(store.Dir, "ns/e/vm/100")); err != nil || len(entries) != count+3 {
		t.Errorf("%d entries are there, %v", len(entries), err)
	}
	if stray := store.strayLockFiles(); len(stray) > 0 {
		t.Errorf("%d lock files are left", len(stray))
	}
}
