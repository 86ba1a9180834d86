package datastore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// interleaved are operations of which one comes in the middle of another. All of
// them are about the same few snapshots.
var interleaved = []operation{
	{name: "backup", object: "vm/100", time: third, data: "xs64:2:3000+xs64:4:3000"},
	{name: "backup", object: "vm/400", time: third, data: "xs64:9:3000"}, // whose chunk is garbage at first
	{name: "remove-snapshot", object: "vm/100/" + first.String()},
	{name: "remove-snapshot", object: "vm/300/" + first.String()}, // the last one of its group
	{name: "backup", object: "vm/300", time: third, data: "xs64:3:3000"},
	{name: "remove-group", object: "vm/100"},
	{name: "prune", object: "vm/100"},
	{name: "protect", object: "vm/100/" + first.String(), data: "why"},
	{name: "unprotect", object: "vm/100/" + first.String()},
	{name: "notes", object: "vm/100/" + first.String(), data: "x"},
	{name: "notes", object: "vm/300", data: "x"},
	{name: "change-owner", object: "vm/300", data: "root@pam"},
	{name: "collect"},
	{name: "verify"},
	{name: "restore", object: "vm/100/" + first.String()},
	{name: "move-group", object: "vm/100", data: "a"},
	{name: "merge-group", object: "vm/300", data: "b"},
	{name: "move-namespace", object: "b", data: "a/c"},
	{name: "remove-empty-namespace", object: "a"},
}

func (o operation) String() string { return o.name + " " + o.object }

// TestAnyTwoOperationsLeaveASoundStoreWhereverOneStopsForTheOther stops the first
// before each of its changes, runs the second to its end, and lets the first go on.
func TestAnyTwoOperationsLeaveASoundStoreWhereverOneStopsForTheOther(t *testing.T) {
	t.Parallel()
	for i, one := range interleaved {
		for j, two := range interleaved {
			if sampled() && (i+2*j)%len(interleaved) != 0 {
				continue // one of so many has to do
			}
			t.Run(fmt.Sprintf("%s, then %s", one, two), func(t *testing.T) {
				t.Parallel()
				for n, stopped := 0, true; stopped; n++ {
					if !sampled() || n%7 == i%7 {
						stopped = interleave(t, one, two, n)
					}
				}
			})
		}
	}
}

func interleaveStore(t *testing.T) *testds.Store {
	t.Helper()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:3000"))
	store.Backup("vm/100", second, image(t, "xs64:2:3000"))
	store.Backup("vm/300", first, image(t, "xs64:3:3000"))
	makeNamespaces(store, "a")
	backUpIn(store, "b", "vm/300", second)
	garbage := store.Backup("vm/500", first, image(t, "xs64:9:3000"))
	if _, err := store.Open(datastore.Options{}).RemoveSnapshot(t.Context(), garbage, datastore.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	return store
}

// interleave tells whether the first operation has so many changes.
func interleave(t *testing.T, one, two operation, n int) (stopped bool) {
	t.Helper()
	store := interleaveStore(t)
	store.Leftovers = true
	at, goOn, ended := make(chan string), make(chan struct{}), make(chan error, 1)
	script := fsoptest.PauseAt(n, func(line string) { at <- line }, func() (string, error) { <-goOn; return "", nil })
	go func() { ended <- one.run(t.Context(), store.Dir, script.Disk(), nil) }()
	select {
	case line := <-at:
		err := two.run(t.Context(), store.Dir, nil, nil)
		close(goOn)
		if first := <-ended; !fair(err) || !fair(first) {
			t.Errorf("%s: %v, and %v", line, first, err)
		}
		stopped = true
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	}
	collect(t, store, nothing)
	store.Leftovers = false
	for _, problem := range store.Problems() {
		t.Errorf("stopped at %d: %s", n, problem)
	}
	if t.Failed() {
		t.Logf("stopped by %s", script.String())
		return false
	}
	return stopped
}

// fair tells the refusals that one operation may get for another one.
func fair(err error) bool {
	if err == nil {
		return true
	}
	for _, class := range []error{flock.ErrLocked, flock.ErrChanged, datastore.ErrNotFound, datastore.ErrProtected, datastore.ErrOlder, datastore.ErrExists, datastore.ErrNotEmpty} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}
