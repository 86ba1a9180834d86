package datastore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/storelock"
)

// oneRound is the shortest test of a store.
var oneRound = storelock.SelfTestOptions{Rounds: 1}

var breakAll = storelock.BreakOptions{Force: true}

func share(t testing.TB, store *testds.Store, stale time.Duration) {
	t.Helper()
	_, err := store.Open(datastore.Options{}).SetLockScheme(t.Context(), datastore.LockShared, datastore.SetLockSchemeOptions{Stale: stale, Test: oneRound})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheSchemeOfAStoreIsWhatWasSet(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	if got, err := ds.LockScheme(t.Context()); err != nil || got.Mode != datastore.LockLocal {
		t.Errorf("a new store: %+v, %v", got, err)
	}
	share(t, store, time.Hour)
	if got, err := ds.LockScheme(t.Context()); err != nil || got.Mode != datastore.LockShared || got.Stale != time.Hour || got.RecheckDelay <= 0 {
		t.Errorf("shared: %+v, %v", got, err)
	}
	snapshot := store.Backup("vm/100", first, image(t, "xs64:1:50000"))
	if got := store.Restore(snapshot, testds.ImageName); len(got) != 50000 {
		t.Error(len(got))
	}
	locks, err := ds.StoreLocks(t.Context())
	if err != nil || len(locks) > 0 {
		t.Errorf("left behind: %v, %v", locks, err)
	}
	_, err = ds.Check(t.Context(), datastore.CheckOptions{Each: func(f datastore.Finding) {
		if strings.Contains(f.Path, "lock") {
			t.Errorf("a check finds fault with %+v", f)
		}
	}})
	if err != nil {
		t.Error(err)
	}
	if _, err := ds.SetLockScheme(t.Context(), datastore.LockLocal, datastore.SetLockSchemeOptions{OnlyHost: true}); err != nil {
		t.Fatal(err)
	}
	if got, err := ds.LockScheme(t.Context()); err != nil || got != (datastore.LockScheme{Mode: datastore.LockLocal, OnlyHost: true}) {
		t.Errorf("local again: %+v, %v", got, err)
	}
}

func TestAnUnknownSchemeKeepsEverybodyFromChangingTheStore(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":         "",
		"another mode":    `{"format":1,"mode":"quantum"}`,
		"another format":  `{"format":2,"mode":"local"}`,
		"more than ours":  `{"format":1,"mode":"local","quorum":3}`,
		"two":             `{"format":1,"mode":"local"}{}`,
		"too long":        `{"format":1,"mode":"local"}` + strings.Repeat(" ", 5000),
		"a hasty lease":   `{"format":1,"mode":"shared","stale-ns":1}`,
		"no mode":         `{"format":1}`,
		"being changed":   `{"format":1,"mode":"changing"}`,
		"negative delays": `{"format":1,"mode":"shared","recheck-delay-ns":-1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			snapshot := store.Backup("vm/100", first, []byte("x"))
			if err := os.WriteFile(filepath.Join(store.Dir, ".pbs-like-locking"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ds := store.Open(datastore.Options{OnlyHost: true})
			want := datastore.ErrScheme
			if name == "being changed" {
				want = flock.ErrLocked
			} else if got := store.Restore(snapshot, testds.ImageName); string(got) != "x" {
				t.Errorf("reading: %q", got)
			}
			_, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{})
			if !errors.Is(err, want) {
				t.Errorf("removal: %v", err)
			}
			if err := os.Remove(filepath.Join(store.Dir, ".pbs-like-locking")); err != nil || len(store.Finished()) != 1 {
				t.Error("removed", err)
			}
		})
	}
}

func TestASchemeIsNotChangedWhileAnybodyWorks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"back up", "restore base", "remove base", "note on group"} {
		for _, from := range []datastore.LockMode{datastore.LockLocal, datastore.LockShared} {
			t.Run(name+", "+string(from), func(t *testing.T) {
				t.Parallel()
				store := matrixStore(t)
				to := datastore.LockShared
				if from == datastore.LockShared {
					share(t, store, 0)
					to = datastore.LockLocal
				}
				one := running[name]
				if from == datastore.LockShared {
					one.host = host{id: "elsewhere"}
				}
				holder := one.start(t, store, one.script)
				waitUntilHeld(holder)
				ds := store.Open(datastore.Options{})
				_, err := ds.SetLockScheme(t.Context(), to, datastore.SetLockSchemeOptions{Test: oneRound})
				if !errors.Is(err, flock.ErrLocked) {
					t.Errorf("not refused: %v", err)
				}
				if got, err := ds.LockScheme(t.Context()); err != nil || got.Mode != from {
					t.Errorf("now %+v, %v", got, err)
				}
				holder.Send("go on")
				holder.Expect("done")
				if _, err := ds.SetLockScheme(t.Context(), to, datastore.SetLockSchemeOptions{Test: oneRound}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// storeLocksOf are the store locks that an operation has while it runs, "x" for exclusive.
// They are a second account of the table, to compare the first with.
var storeLocksOf = map[string]string{
	"back up": "store:s group:x snaps:s", "restore base": "snaps:s", "remove base": "snaps:x", "remove group": "group:x snaps:x", "prune": "snaps:x",
	"protect base": "snaps:s manifests:x", "note on base": "snaps:s manifests:x", "note on group": "group:x", "change owner": "group:x",
	"collect": "store:x", "repair": "store:x", "verify base": "snaps:s manifests:x",
	"move group":     "store:s tree:s group:x snaps:x",
	"move namespace": "store:s tree:x groupA:x snapsA:x", "remove namespace": "tree:x groupA:x snapsA:x",
	"back up in a": "store:s groupA:x snapsA:s", "restore in a": "snapsA:s",

	"restore older": "snaps:s", "remove older": "snaps:x", "back up another": "store:s tree:s", "remove another": "group3:x snaps3:x", "remove the new": "group:x snaps:x",
	"restore another": "snaps3:s", "protect older": "snaps:s manifests:x", "unprotect base": "snaps:s manifests:x", "verify older": "snaps:s manifests:x",
	"back up in third": "store:s group3:x", "back up in b": "store:s groupB3:x", "merge group": "store:s tree:s group3:x snaps3:x groupB3:x", "create in a": "tree:s", "back up new in a": "store:s tree:s",
}

func conflict(running, starting string) bool {
	held := map[string]string{}
	for lock := range strings.FieldsSeq(storeLocksOf[running]) {
		name, mode, _ := strings.Cut(lock, ":")
		held[name] = mode
	}
	for lock := range strings.FieldsSeq(storeLocksOf[starting]) {
		name, mode, _ := strings.Cut(lock, ":")
		if strings.HasPrefix(starting, "back up") && strings.HasPrefix(name, "snaps") {
			continue // without a base it goes on
		}
		if held[name] == "x" || held[name] == "s" && mode == "x" {
			return starting != "prune" // which keeps what is in use
		}
	}
	return false
}

// TestEveryOperationAgainstEveryOtherOfAnotherHost is the table once more, with two
// processes to which the kernel's locks say nothing.
func TestEveryOperationAgainstEveryOtherOfAnotherHost(t *testing.T) {
	t.Parallel()
	var n int
	for name, one := range running {
		for second, two := range starting {
			if n++; n%sampleOf(92, 23) != 0 {
				continue
			}
			one.host, two.host, two.hasty = host{id: "first"}, host{id: "second"}, true
			t.Run(name+", then "+second, func(t *testing.T) {
				t.Parallel()
				store := matrixStore(t)
				store.Leftovers = true // of what may be elsewhere; they are swept when they are a day old
				share(t, store, 0)
				holder := one.start(t, store, one.script)
				waitUntilHeld(holder)
				line := two.start(t, store, "record").Line()
				switch wants := conflict(name, second); {
				case second == "remove the new" && strings.Contains(line, "does not exist"):
				case wants && (!strings.Contains(line, "in use") || !strings.Contains(line, "first+pbs-like")):
					t.Errorf("should be refused because of the first host: %s", line)
				case !wants && line != "done":
					t.Errorf("should go on: %s", line)
				}
				holder.Send("go on")
				holder.Expect("done")
			})
		}
	}
}

func TestALockOfAHostThatDiedIsFreeAfterItsStaleTime(t *testing.T) {
	t.Parallel()
	store := matrixStore(t)
	store.Leftovers = true
	share(t, store, time.Second)
	one := running["back up"]
	one.host = host{id: "first"}
	holder := one.start(t, store, one.script)
	waitUntilHeld(holder)
	holder.Kill()
	two := operation{name: "remove-group", object: "vm/100", host: host{id: "second"}}
	if line := two.start(t, store, "record").Line(); !strings.Contains(line, "in use") {
		t.Errorf("before that: %s", line)
	}
	two.host.memory, two.host.wait = t.TempDir(), time.Minute
	if line := two.start(t, store, "record").Line(); line != "done" {
		t.Errorf("after that: %s", line)
	}
}

// TestAHostThatIsPausedForLongStopsBeforeItsNextStep stops the first host, lets the
// second one take its lock over, and wakes it.
func TestAHostThatIsPausedForLongStopsBeforeItsNextStep(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]operation{
		"back up":       {name: "remove-group", object: "vm/100"},
		"remove base":   {name: "notes", object: "vm/100/" + second.String(), data: "kept"},
		"remove group":  {name: "change-owner", object: "vm/100", data: "a@pam"},
		"note on group": {name: "notes", object: "vm/100", data: "the second's"},
		"prune":         {name: "notes", object: "vm/100/" + first.String(), data: "kept"},
		"collect":       {name: "backup", object: "vm/100", time: third, data: "xs64:9:100000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := matrixStore(t)
			store.Leftovers = true
			share(t, store, time.Second)
			one := running[name]
			one.host = host{id: "first"}
			holder := one.start(t, store, one.script)
			waitUntilHeld(holder)
			holder.Stop()
			by.host = host{id: "second", memory: t.TempDir(), wait: time.Minute}
			if line := by.start(t, store, "record").Line(); line != "done" {
				t.Errorf("not taken over: %s", line)
			}
			before := visibleIn(t, store)
			holder.Continue()
			holder.Send("go on")
			if line := holder.Line(); !strings.Contains(line, "the lock was lost") {
				t.Errorf("not noticed: %s", line)
			}
			if after := visibleIn(t, store); after != before {
				t.Errorf("it took a step:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// visibleIn lists what is visible in the store, and the group's own files.
func visibleIn(t *testing.T, store *testds.Store) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(store.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") && entry.IsDir() && entry.Name() != filepath.Base(store.Dir) {
			return filepath.SkipDir
		}
		if info, err := entry.Info(); err == nil && !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			list.WriteString(path + " " + info.ModTime().String() + "\n")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}
