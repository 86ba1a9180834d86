package datastore_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// running are the operations that hold their locks when the next one starts. Those
// that remove or rewrite stop before their first change, with all their locks.
var running = map[string]struct {
	operation
	script string
}{
	"back up":       {operation{name: "held backup", object: "vm/100", time: third, data: "xs64:3:100000"}, "record"},
	"restore base":  {operation{name: "held restore", object: "vm/100/" + second.String()}, "record"},
	"remove base":   {operation{name: "remove-snapshot", object: "vm/100/" + second.String()}, "pause-before-0"},
	"remove group":  {operation{name: "remove-group", object: "vm/100"}, "pause-before-0"},
	"prune":         {operation{name: "prune", object: "vm/100"}, "pause-before-0"}, // that is, remove older
	"protect base":  {operation{name: "protect", object: "vm/100/" + second.String()}, "pause-before-0"},
	"note on base":  {operation{name: "notes", object: "vm/100/" + second.String(), data: "x"}, "pause-before-0"},
	"note on group": {operation{name: "notes", object: "vm/100", data: "x"}, "pause-before-0"},
	"change owner":  {operation{name: "change-owner", object: "vm/100", data: "a@pam"}, "pause-before-0"},
	"collect":       {operation{name: "collect"}, "pause-before-0"},
	"repair":        {operation{name: "repair"}, "pause-before-0"},
	"verify base":   {operation{name: "verify", object: "vm/100/" + second.String()}, "pause-before-0"},

	"move group":       {operation{name: "move-group", object: "vm/100", data: "b"}, "pause-before-0"},
	"merge group":      {operation{name: "merge-group", object: "vm/300", data: "b"}, "pause-before-0"},
	"move namespace":   {operation{name: "move-namespace", object: "a", data: "b/c"}, "pause-before-0"},
	"remove namespace": {operation{name: "remove-namespace", object: "a"}, "pause-before-0"},
	"back up in a":     {operation{name: "held backup", object: "vm/100@a", time: third, data: "xs64:3:100000"}, "record"},
	"restore in a":     {operation{name: "held restore", object: "vm/100/" + first.String() + "@a"}, "record"},
}

// starting are those that come second.
var starting = map[string]operation{
	"back up":          {name: "backup", object: "vm/100", time: third + day, data: "xs64:4:100000"},
	"restore base":     {name: "restore", object: "vm/100/" + second.String()},
	"restore older":    {name: "restore", object: "vm/100/" + first.String()},
	"remove base":      {name: "remove-snapshot", object: "vm/100/" + second.String()},
	"remove older":     {name: "remove-snapshot", object: "vm/100/" + first.String()},
	"remove group":     {name: "remove-group", object: "vm/100"},
	"back up another":  {name: "backup", object: "vm/200", time: third, data: "xs64:5:100000"},
	"remove another":   {name: "remove-group", object: "vm/300"},
	"remove the new":   {name: "remove-snapshot", object: "vm/100/" + third.String()},
	"restore another":  {name: "restore", object: "vm/300/" + first.String()},
	"prune":            {name: "prune", object: "vm/100"},
	"protect base":     {name: "protect", object: "vm/100/" + second.String()},
	"protect older":    {name: "protect", object: "vm/100/" + first.String()},
	"unprotect base":   {name: "unprotect", object: "vm/100/" + second.String()},
	"note on base":     {name: "notes", object: "vm/100/" + second.String(), data: "y"},
	"note on group":    {name: "notes", object: "vm/100", data: "y"},
	"change owner":     {name: "change-owner", object: "vm/100", data: "root@pam"},
	"collect":          {name: "collect"},
	"repair":           {name: "repair"},
	"verify base":      {name: "verify", object: "vm/100/" + second.String()},
	"verify older":     {name: "verify", object: "vm/100/" + first.String()},
	"back up in third": {name: "backup", object: "vm/300", time: third, data: "xs64:6:100000"},

	"move group":       {name: "move-group", object: "vm/100", data: "b"},
	"merge group":      {name: "merge-group", object: "vm/300", data: "b"},
	"move namespace":   {name: "move-namespace", object: "a", data: "b/c"},
	"remove namespace": {name: "remove-namespace", object: "a"},
	"create in a":      {name: "create-namespace", object: "a/new"},
	"back up in a":     {name: "backup", object: "vm/100@a", time: third + day, data: "xs64:4:100000"},
	"back up new in a": {name: "backup", object: "vm/999@a", time: third + day, data: "xs64:4:100000"},
	"restore in a":     {name: "restore", object: "vm/100/" + first.String() + "@a"},
	"restore in b":     {name: "restore", object: "vm/300/" + second.String() + "@b"},
	"remove in b":      {name: "remove-snapshot", object: "vm/300/" + second.String() + "@b"},
	"back up in b":     {name: "backup", object: "vm/300@b", time: third + day, data: "xs64:4:100000"},
}

// refused are the pairs in which the second operation finds the lock held. All
// others go on. The table is that of the package documentation.
var refused = map[string][]string{
	"back up": {
		"back up", "remove base", "remove group", "remove the new", "protect base", "unprotect base", "note on group", "change owner", "collect",
		"repair", "move group",
	},
	"restore base": {"remove base", "remove group", "protect base", "unprotect base", "move group"},
	"remove base":  {"restore base", "remove base", "remove group", "protect base", "unprotect base", "note on base", "verify base", "move group"},
	"remove group": {
		"back up", "restore base", "restore older", "remove base", "remove older", "remove group",
		"protect base", "protect older", "unprotect base", "note on base", "note on group", "change owner", "verify base", "verify older", "move group",
	},
	"prune":         {"restore older", "remove older", "remove group", "protect older", "verify older", "move group"},
	"protect base":  {"restore base", "remove base", "remove group", "protect base", "unprotect base", "note on base", "verify base", "move group"},
	"note on base":  {"remove base", "remove group", "protect base", "unprotect base", "note on base", "verify base", "move group"},
	"note on group": {"back up", "remove group", "note on group", "change owner", "move group"},
	"change owner":  {"back up", "remove group", "note on group", "change owner", "move group"},
	"collect": {
		"back up", "back up another", "back up in third", "collect", "repair", "back up in a", "back up new in a", "back up in b",
		"move group", "merge group", "move namespace",
	},
	"repair": {
		"back up", "back up another", "back up in third", "collect", "repair", "back up in a", "back up new in a", "back up in b",
		"move group", "merge group", "move namespace",
	},
	"verify base": {"remove base", "remove group", "protect base", "unprotect base", "note on base", "verify base", "move group"},
}

// refusedInTree are the same for what changes the tree of namespaces.
var refusedInTree = map[string][]string{
	"move group": {
		"back up", "restore base", "restore older", "remove base", "remove older", "remove group", "collect", "repair",
		"protect base", "protect older", "unprotect base", "note on base", "note on group", "change owner", "verify base", "verify older",
		"move group", "move namespace", "remove namespace",
	},
	"merge group": { // what the target has already may be read, and be removed
		"back up in third", "restore another", "remove another", "back up in b", "merge group", "collect", "repair", "move namespace", "remove namespace",
	},
	"move namespace": {
		"back up another", "back up in a", "back up new in a", "restore in a", "collect", "repair", "create in a",
		"move group", "merge group", "move namespace", "remove namespace",
	},
	"remove namespace": {
		"back up another", "back up in a", "back up new in a", "restore in a", "create in a",
		"move group", "merge group", "move namespace", "remove namespace",
	},
	"back up in a": {"back up in a", "collect", "repair", "move namespace", "remove namespace"},
	"restore in a": {"move namespace", "remove namespace"},
}

func isRefused(running, starting string) bool {
	return slices.Contains(refused[running], starting) || slices.Contains(refusedInTree[running], starting)
}

// missing are the pairs whose second operation has nothing to work on.
var missing = map[string]bool{"remove the new": true}

func matrixStore(t *testing.T) *testds.Store {
	t.Helper()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:100000"))
	store.Backup("vm/100", second, image(t, "xs64:2:100000"))
	store.Backup("vm/300", first, image(t, "xs64:7:100000"))
	backUpIn(store, "a", "vm/100", first)
	backUpIn(store, "b", "vm/300", second)
	return store
}

// TestEveryOperationAgainstEveryOther stops the first operation in the middle,
// twice: as a process that waits, and as one that is stopped by a signal. With
// -short each operation meets a few of the others, and half of them otherwise.
func TestEveryOperationAgainstEveryOther(t *testing.T) {
	t.Parallel()
	for i, name := range slices.Sorted(maps.Keys(running)) {
		for j, second := range slices.Sorted(maps.Keys(starting)) {
			if sample := sampleOf(15, 2); (i+j)%sample != 0 {
				continue
			}
			t.Run(name+", then "+second, func(t *testing.T) {
				t.Parallel()
				meet(t, name, second)
			})
		}
	}
}

func meet(t *testing.T, name, second string) {
	t.Helper()
	store := matrixStore(t)
	holder := running[name].start(t, store, running[name].script)
	waitUntilHeld(holder)
	holder.Stop()
	wantsRefusal := isRefused(name, second)
	checkSecond(t, begin(store, starting[second]), wantsRefusal, missing[second] && !wantsRefusal, holder.PID)
	holder.Continue()
	holder.Send("go on")
	holder.Expect("done")
	if err := holder.Wait(); err != nil {
		t.Error(err)
	}
}

// begin does an operation in this process, which has no locks, and waits no longer
// than it must for somebody who has some.
func begin(store *testds.Store, o operation) error {
	o.hasty = true
	return o.run(store.T.Context(), store.Dir, nil, nil)
}

func waitUntilHeld(holder *helperproc.Proc) {
	if line := holder.Line(); line != "ready" && !strings.HasPrefix(line, "at 0 ") {
		holder.Expect("ready, and not " + line)
	}
}

func checkSecond(t *testing.T, err error, refused, missing bool, holder int) {
	t.Helper()
	switch {
	case refused && (!errors.Is(err, flock.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("pid ", holder)) || !strings.Contains(err.Error(), "in use")):
		t.Errorf("should be refused because of process %d: %v", holder, err)
	case missing && !errors.Is(err, datastore.ErrNotFound):
		t.Errorf("there is nothing to work on: %v", err)
	case !refused && !missing && err != nil:
		t.Errorf("should go on: %v", err)
	}
}

// TestTheMomentAProcessIsKilledItsLocksAreGone kills the holder and expects of
// every operation that was refused that it works at once.
func TestTheMomentAProcessIsKilledItsLocksAreGone(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	for name := range running {
		for second := range starting {
			if !isRefused(name, second) {
				continue
			}
			t.Run(name+", then "+second, func(t *testing.T) {
				t.Parallel()
				store := matrixStore(t)
				store.Leftovers = true // of the process that was killed
				one := running[name]
				holder := one.start(t, store, one.script)
				waitUntilHeld(holder)
				holder.Kill()
				if err := begin(store, starting[second]); err != nil {
					t.Errorf("not free: %v", err)
				}
			})
		}
	}
}

func TestABackupWhoseNewestIsBeingRemovedTakesTheNextOlderBase(t *testing.T) {
	t.Parallel()
	store := matrixStore(t)
	holder := running["remove base"].start(t, store, "pause-before-0")
	waitUntilHeld(holder)
	snapshot := store.Backup("vm/100", third, []byte("x"))
	holder.Send("go on")
	holder.Expect("done")
	var got []backupinfo.Time
	for _, finished := range store.Finished() {
		if finished.Group == snapshot.Group {
			got = append(got, finished.Time)
		}
	}
	if !slices.Equal(got, []backupinfo.Time{first, third}) {
		t.Errorf("%v", got)
	}
}
