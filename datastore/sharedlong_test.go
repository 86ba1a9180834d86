package datastore_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// TestAnOperationThatTakesLongerThanTheStaleTimeKeepsItsLocks: it waits for somebody who reads or types, and
// another host wants its lock all the while.
func TestAnOperationThatTakesLongerThanTheStaleTimeKeepsItsLocks(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{
		"back up": "remove group", "restore base": "remove base", "collect": "back up another", "prune": "restore older", "remove group": "back up",
		"move group": "note on group", "move namespace": "create in a", "verify base": "note on base", "note on group": "change owner",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const stale = time.Second
			store := matrixStore(t)
			store.Leftovers = true
			share(t, store, stale)
			one, two := running[name], starting[second]
			one.host, two.host = host{id: "first"}, host{id: "second", memory: t.TempDir(), wait: 4 * stale}
			holder := one.start(t, store, one.script)
			waitUntilHeld(holder)
			if line := two.start(t, store, "record").Line(); !strings.Contains(line, "in use") || !strings.Contains(line, "first+pbs-like") {
				t.Errorf("not refused: %s", line)
			}
			holder.Send("go on")
			holder.Expect("done")
			two.host.wait = 0
			if line := two.start(t, store, "record").Line(); line != "done" && !strings.Contains(line, "does not exist") {
				t.Errorf("afterwards: %s", line)
			}
		})
	}
}

// TestACollectorThatDiesAgainAndAgainStarvesNobody: it is started anew at once, as by a supervisor.
func TestACollectorThatDiesAgainAndAgainStarvesNobody(t *testing.T) {
	t.Parallel()
	store := matrixStore(t)
	store.Leftovers = true
	share(t, store, 0)
	collector := operation{name: "collect", host: host{id: "collector"}}
	waits := make(chan struct{}, 100)
	ds := store.Open(datastore.Options{LockWait: 20 * time.Second, Events: datastore.Events{Waiting: func(error) { waits <- struct{}{} }}})
	for n := range 5 {
		p := collector.start(t, store, "pause-before-0")
		waitUntilHeld(p)
		done := make(chan error, 1)
		go func() {
			two := operation{name: "backup", object: "vm/100", time: third + day*backupinfo.Time(n), data: "xs64:4:100000"}
			done <- two.on(t.Context(), ds, nil)
		}()
		<-waits
		p.Kill()
		next := collector.start(t, store, "pause-before-0") // may be first, and dies as well
		time.AfterFunc(time.Second, next.Kill)
		if err := <-done; err != nil {
			t.Errorf("no turn after %d deaths: %v", n+1, err)
		}
		next.Kill()
	}
}

// TestAfterABreakNothingIsInTheWayOfACollection has one of everything that may be.
func TestAfterABreakNothingIsInTheWayOfACollection(t *testing.T) {
	t.Parallel()
	store := matrixStore(t)
	share(t, store, 0)
	ds := store.Open(datastore.Options{})
	for _, name := range []string{"datastore", "namespaces", "group-vm-100", "snapshots-vm-100", "manifests-vm-100"} {
		for file, text := range map[string]string{
			"locks/garbage": "{", "locks/0123456789abcdef": `{"exclusive": true, "hostid": "h"}`, "queue/t0-x": "", "queue/garbage": "", "probe/left": "", "locks/tmpabcdefgh.tmp": "",
		} {
			path := filepath.Join(store.Dir, ".pbs-like-locks", name, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, path, text)
		}
	}
	if _, err := ds.Collect(t.Context(), datastore.CollectOptions{}); err == nil || !strings.Contains(err.Error(), `"locks/garbage"`) {
		t.Errorf("before: %v", err)
	}
	broken, err := ds.BreakStoreLocks(t.Context(), breakAll)
	if err != nil || len(broken) != 25 || !slices.ContainsFunc(broken, func(l datastore.StoreLock) bool { return l.Resource == "manifests-vm-100" && l.Name == "queue/t0-x" }) {
		t.Errorf("broken %d: %v, %v", len(broken), broken, err)
	}
	if _, err := ds.Collect(t.Context(), datastore.CollectOptions{}); err != nil {
		t.Errorf("after: %v", err)
	}
	store.Backup("vm/100", third, []byte("x"))
}
