package datastore_test

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// scenario is an operation on a store with one finished snapshot, and how its end is judged.
type scenario struct {
	operation
	// snapshots is how many finished snapshots there are before and after. Nothing in between is right.
	before, after int
	// garbage says that there are chunks and a leftover that nobody needs any more.
	garbage bool
}

var scenarios = map[string]scenario{
	"a backup with a base":   {operation{name: "backup", object: "vm/100", time: third, data: "xs64:5:50000+zero:5M"}, 2, 3, false},
	"the backup of a group":  {operation{name: "backup", object: "ct/200", time: third, data: "text:5:50000"}, 2, 3, false},
	"removing a snapshot":    {operation{name: "remove-snapshot", object: "vm/100/" + first.String()}, 2, 1, false},
	"removing a group":       {operation{name: "remove-group", object: "vm/100"}, 2, 0, false},
	"removing the last one":  {operation{name: "remove-snapshot", object: "ct/300/" + first.String()}, 3, 2, false},
	"a collection":           {operation{name: "collect"}, 2, 2, true},
	"a verification":         {operation{name: "verify"}, 2, 2, false},
	"removing another group": {operation{name: "remove-group", object: "ct/300"}, 3, 2, false},
}

func (s scenario) store(t *testing.T) *testds.Store {
	t.Helper()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:50000"))
	store.Backup("vm/100", second, image(t, "xs64:2:50000"))
	if s.before == 3 || s.garbage {
		store.Backup("ct/300", first, image(t, "xs64:3:50000"))
	}
	if s.garbage {
		leaveGarbage(t, store)
	}
	return store
}

// check makes sure that the store is as before or as after, and which of the two, and that it is sound.
func (s scenario) check(t *testing.T, store *testds.Store, injected fmt.Stringer) (done bool) {
	t.Helper()
	finished := len(store.Finished())
	if finished != s.before && finished != s.after {
		t.Errorf("%s: %d finished snapshots, neither %d nor %d", injected, finished, s.before, s.after)
	}
	for _, problem := range store.Problems() {
		t.Errorf("%s: %s", injected, problem)
	}
	return finished == s.after
}

// TestADiskOperationThatFailsLeavesOldOrNew makes every disk operation of every
// scenario fail once, before and after it happened.
func TestADiskOperationThatFailsLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	for name, scenario := range scenarios {
		for _, errno := range []unix.Errno{unix.ENOSPC, unix.EIO, unix.EACCES} {
			t.Run(fmt.Sprintf("%s/%s", name, unix.ErrnoName(errno)), func(t *testing.T) {
				t.Parallel()
				for script := range fsoptest.Failures(t, errno) {
					oneFailure(t, scenario, script, errno)
				}
			})
		}
	}
}

func oneFailure(t *testing.T, s scenario, script *fsoptest.Script, errno unix.Errno) {
	t.Helper()
	store := s.store(t)
	store.Leftovers = true // a clean-up may be what failed
	err := s.run(t.Context(), store.Dir, script.Disk(), nil)
	done := s.check(t, store, script)
	switch {
	case err == nil && !done:
		t.Errorf("%s: reported as done, and is not", script)
	case err != nil && !errors.Is(err, errno):
		t.Errorf("%s: another error: %v", script, err)
	case err != nil && done && s.after > s.before:
		t.Errorf("%s: the backup is there, and was reported as failed: %v", script, err)
	}
	if !done {
		s.again(t, store, script)
	}
	s.settle(t, store)
	sweepLeftovers(t, store)
}

// settle runs what goes on where one was cut off, without being asked to.
func (s scenario) settle(t *testing.T, store *testds.Store) {
	t.Helper()
	switch {
	case s.garbage:
		collectRest(t, store)
	case s.name == "verify":
		verify(t, store, datastore.VerifyOptions{Depth: -1})
	}
}

// again repeats the operation undisturbed.
func (s scenario) again(t *testing.T, store *testds.Store, injected fmt.Stringer) {
	t.Helper()
	if err := s.run(t.Context(), store.Dir, nil, nil); err != nil {
		t.Errorf("%s: a second try: %v", injected, err)
	}
	if !s.check(t, store, injected) {
		t.Errorf("%s: a second try did nothing", injected)
	}
}

// sweepLeftovers runs a removal, after which no leftover may be there any more.
func sweepLeftovers(t *testing.T, store *testds.Store) {
	t.Helper()
	snapshot := store.Backup("host/sweeper", first, []byte("x"))
	if _, err := store.Open(datastore.Options{}).RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); err != nil {
		t.Error(err)
	}
	store.Leftovers = false
}

// TestADiskThatIsGoneLeavesOldOrNew makes every operation from one on fail, so that nothing can be cleaned up either.
func TestADiskThatIsGoneLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	for name, scenario := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for script := range fsoptest.Deaths(t, unix.EIO) {
				store := scenario.store(t)
				store.Leftovers = true
				err := scenario.run(t.Context(), store.Dir, script.Disk(), nil)
				if done := scenario.check(t, store, script); err == nil && !done {
					t.Errorf("%s: reported as done, and is not", script)
				}
			}
		})
	}
}

// TestAKillLeavesOldOrNew kills a process before and after each disk operation.
func TestAKillLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	for name, scenario := range scenarios {
		for _, when := range []string{"kill-before", "kill-after"} {
			t.Run(name+"/"+when, func(t *testing.T) {
				t.Parallel()
				for n := 0; killed(t, scenario, spec(fmt.Sprintf("%s-%d", when, n))); n++ {
				}
			})
		}
	}
}

type spec string

func (s spec) String() string { return string(s) }

// killed runs the scenario in a process that dies at one point, and tells whether it came to that.
func killed(t *testing.T, s scenario, script spec) bool {
	t.Helper()
	store := s.store(t)
	store.Leftovers = true
	p := s.start(t, store, string(script))
	died := p.Wait() != nil
	if !s.check(t, store, script) {
		s.again(t, store, script)
	}
	s.settle(t, store)
	removeAll(t, store, script)
	sweepLeftovers(t, store)
	return died
}

// removeAll removes every group, which must work now that the process is gone.
func removeAll(t *testing.T, store *testds.Store, injected fmt.Stringer) {
	t.Helper()
	ds := store.Open(datastore.Options{})
	for info, err := range ds.Groups(t.Context(), backupinfo.Namespace{}) {
		if err != nil {
			t.Errorf("%s: %v", injected, err)
			continue
		}
		if _, err := ds.RemoveGroup(t.Context(), info.Group, datastore.RemoveGroupOptions{}); err != nil {
			t.Errorf("%s: removing %s afterwards: %v", injected, info.Group.Dir(), err)
		}
	}
	if left := store.Snapshots(); len(left) != 0 {
		t.Errorf("%s: left: %v", injected, left)
	}
}
