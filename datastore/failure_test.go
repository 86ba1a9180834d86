package datastore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// scenario is an operation on a store with finished snapshots, and how its end is judged.
type scenario struct {
	operation
	// before and after are what measure gives, by default the number of finished
	// snapshots. Nothing in between is right.
	before, after int
	measure       func(*testds.Store) int
	prepare       func(*testds.Store)
	// garbage says that there are chunks and a leftover that nobody needs any more.
	garbage bool
}

var scenarios = map[string]scenario{
	"creating namespaces":         {operation: operation{name: "create-namespace", object: "x/y"}, after: 1, measure: hasNamespace("x/y")},
	"removing an empty namespace": {operation: operation{name: "remove-empty-namespace", object: "d"}, before: 1, prepare: inNamespaces, measure: hasNamespace("d")},
	"removing a namespace":        {operation: operation{name: "remove-namespace", object: "a"}, before: 6, after: 3, prepare: inNamespaces},
	"moving a namespace":          {operation: operation{name: "move-namespace", object: "a", data: "d/e"}, after: 3, prepare: inNamespaces, measure: movedTo("d", 6)},
	"moving a group":              {operation: operation{name: "move-group", object: "vm/100", data: "d"}, after: 2, prepare: inNamespaces, measure: movedTo("d", 6)},
	"merging a group":             {operation: operation{name: "merge-group", object: "vm/100", data: "c"}, before: 1, after: 3, prepare: inNamespaces, measure: movedTo("c", 6)},
	"a backup with a base":        {operation: operation{name: "backup", object: "vm/100", time: third, data: "xs64:5:50000+zero:5M"}, before: 2, after: 3},
	"the backup of a group":       {operation: operation{name: "backup", object: "ct/200", time: third, data: "text:5:50000"}, before: 2, after: 3},
	"removing a snapshot":         {operation: operation{name: "remove-snapshot", object: "vm/100/" + first.String()}, before: 2, after: 1},
	"removing a group":            {operation: operation{name: "remove-group", object: "vm/100"}, before: 2, after: 0},
	"removing the last one":       {operation: operation{name: "remove-snapshot", object: "ct/300/" + first.String()}, before: 3, after: 2},
	"removing another group":      {operation: operation{name: "remove-group", object: "ct/300"}, before: 3, after: 2},
	"pruning":                     {operation: operation{name: "prune", object: "vm/100"}, before: 2, after: 1},
	"pruning two":                 {operation: operation{name: "prune", object: "vm/100"}, before: 3, after: 1, prepare: oneMore},
	"protecting":                  {operation: operation{name: "protect", object: "vm/100/" + first.String(), data: "why"}, after: 1, measure: isProtected},
	"ending a protection":         {operation: operation{name: "unprotect", object: "vm/100/" + first.String()}, before: 1, prepare: protectFirst, measure: isProtected},
	"notes on a snapshot":         {operation: operation{name: "notes", object: "vm/100/" + first.String(), data: "new"}, after: 1, measure: hasNotes("vm/100/" + first.String())},
	"notes on a group":            {operation: operation{name: "notes", object: "vm/100", data: "new"}, after: 1, measure: hasNotes("vm/100")},
	"taking notes away":           {operation: operation{name: "notes", object: "vm/100"}, before: 1, prepare: noteOnGroup, measure: hasNotes("vm/100")},
	"a collection":                {operation: operation{name: "collect"}, before: 2, after: 2, garbage: true},
	"a verification":              {operation: operation{name: "verify"}, before: 2, after: 2},
	"changing the owner":          {operation: operation{name: "change-owner", object: "vm/100", data: "new@pam"}, after: 1, measure: hasNewOwner},
	"a repair":                    {operation: operation{name: "repair"}, after: 1, prepare: battered, measure: mended},
	"an encrypted backup":         {operation: operation{name: "encrypted backup", object: "vm/100", time: third, data: "xs64:5:50000+zero:5M"}, before: 2, after: 3, prepare: encryptFirst},
}

// between says that a step between before and after is right too: each snapshot that is removed or moved counts for itself.
func (s scenario) between(measured int) bool {
	lowest, highest := min(s.before, s.after), max(s.before, s.after)
	return (s.name == "prune" || s.name == "merge-group") && lowest < measured && measured < highest
}

func oneMore(store *testds.Store) { store.Backup("vm/100", third, []byte("third")) }

// encryptFirst makes the two snapshots anew, with a key.
func encryptFirst(store *testds.Store) {
	store.T.Helper()
	removeAll(store.T.(*testing.T), store, spec("prepare"))
	for at, data := range map[backupinfo.Time]string{first: "xs64:1:50000", second: "xs64:2:50000"} {
		o := operation{name: "encrypted backup", object: map[backupinfo.Time]string{first: "vm/101", second: "vm/100"}[at], time: at, data: data}
		if err := o.run(store.T.Context(), store.Dir, nil, nil); err != nil {
			store.T.Error(err)
		}
	}
}

// treesFirst makes the two snapshots anew, with trees of which most is reused.
func treesFirst(store *testds.Store) {
	store.T.Helper()
	removeAll(store.T.(*testing.T), store, spec("prepare"))
	for _, at := range []backupinfo.Time{first, second} {
		o := operation{name: "tree backup", object: "vm/100", time: at, data: "xs64:1:7000"}
		if err := o.run(store.T.Context(), store.Dir, nil, nil); err != nil {
			store.T.Error(err)
		}
	}
}

func protectFirst(store *testds.Store) {
	if err := (operation{name: "protect", object: "vm/100/" + first.String()}).run(store.T.Context(), store.Dir, nil, nil); err != nil {
		store.T.Error(err)
	}
}

func noteOnGroup(store *testds.Store) {
	if err := (operation{name: "notes", object: "vm/100", data: "new"}).run(store.T.Context(), store.Dir, nil, nil); err != nil {
		store.T.Error(err)
	}
}

func isProtected(store *testds.Store) int {
	store.T.Helper()
	for _, s := range store.Snapshots() {
		if s.Protected {
			return 1
		}
	}
	return 0
}

// hasNotes gives 1 for the new notes, 0 for none, and what is neither for half of them.
func hasNotes(name string) func(*testds.Store) int {
	return func(store *testds.Store) int {
		store.T.Helper()
		object, err := backupinfo.ParseObject(backupinfo.Namespace{}, name)
		if err != nil {
			store.T.Error(err)
		}
		text, err := store.Open(datastore.Options{}).Notes(store.T.Context(), object)
		return oneOf(store, text, err, "", "new")
	}
}

func hasNewOwner(store *testds.Store) int {
	store.T.Helper()
	info, err := store.Open(datastore.Options{}).Group(store.T.Context(), store.Group("vm/100"))
	return oneOf(store, info.Owner.String(), errors.Join(err, info.Err), "root@pam", "new@pam")
}

func oneOf(store *testds.Store, got string, err error, values ...string) int {
	store.T.Helper()
	if err != nil {
		store.T.Error(err)
	}
	return slices.Index(values, got)
}

func (s scenario) store(t *testing.T) *testds.Store {
	t.Helper()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:50000"))
	store.Backup("vm/100", second, image(t, "xs64:2:50000"))
	if s.prepare != nil {
		s.prepare(store)
	} else if s.before == 3 || s.garbage {
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
	measured := len(store.Finished())
	if s.measure != nil {
		measured = s.measure(store)
	}
	if measured != s.before && measured != s.after && !s.between(measured) {
		t.Errorf("%s: %d, neither %d nor %d", injected, measured, s.before, s.after)
	}
	for _, problem := range store.Problems() {
		t.Errorf("%s: %s", injected, problem)
	}
	if s.name == "encrypted backup" {
		checkEncrypted(t, store, injected)
	}
	return measured == s.after
}

// failureErrnos are what disk operations fail with. With -short one has to do.
func failureErrnos() []unix.Errno {
	if testing.Short() {
		return []unix.Errno{unix.ENOSPC}
	}
	return []unix.Errno{unix.ENOSPC, unix.EIO, unix.EACCES}
}

// TestADiskOperationThatFailsLeavesOldOrNew makes every disk operation of every
// scenario fail once, before and after it happened.
func TestADiskOperationThatFailsLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	for name, scenario := range scenarios {
		for _, errno := range failureErrnos() {
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
	case err != nil && done && strings.HasSuffix(s.name, "backup"):
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

// clear removes the unfinished snapshot that a killed backup left: nobody uses it from the moment on in which its
// writer is gone, and its time is taken as long as it is there.
func (s scenario) clear(t *testing.T, store *testds.Store, injected fmt.Stringer) {
	t.Helper()
	if !strings.HasSuffix(s.name, "backup") {
		return
	}
	left := backupinfo.Snapshot{Group: store.Group(s.object), Time: s.time}
	if _, err := store.Open(datastore.Options{}).RemoveSnapshot(t.Context(), left, datastore.RemoveOptions{}); err != nil && !errors.Is(err, datastore.ErrNotFound) {
		t.Errorf("%s: what a killed backup left can't be removed: %v", injected, err)
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
	skipIfShort(t)
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
	skipIfShort(t)
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
	died := p.Ended() != nil
	if !s.check(t, store, script) {
		s.clear(t, store, script)
		s.again(t, store, script)
	}
	s.settle(t, store)
	removeAll(t, store, script)
	collect(t, store, nothing) // chunks that were being written
	sweepLeftovers(t, store)
	return died
}

// removeAll removes every group, which must work now that the process is gone.
func removeAll(t *testing.T, store *testds.Store, injected fmt.Stringer) {
	t.Helper()
	ds := store.Open(datastore.Options{})
	for ns, err := range ds.Namespaces(t.Context(), backupinfo.Namespace{}, -1) {
		if err != nil {
			t.Errorf("%s: %v", injected, err)
		}
		removeGroups(t, ds, ns, injected)
	}
	if left := store.Snapshots(); len(left) != 0 {
		t.Errorf("%s: left: %v", injected, left)
	}
}

func removeGroups(t *testing.T, ds *datastore.Datastore, ns backupinfo.Namespace, injected fmt.Stringer) {
	t.Helper()
	for info, err := range ds.Groups(t.Context(), ns) {
		if err != nil {
			t.Errorf("%s: %v", injected, err)
			continue
		}
		unprotectAll(t, ds, info.Group)
		if _, err := ds.RemoveGroup(t.Context(), info.Group, datastore.RemoveGroupOptions{}); err != nil {
			t.Errorf("%s: removing %s afterwards: %v", injected, info.Group.Dir(), err)
		}
	}
}

func unprotectAll(t *testing.T, ds *datastore.Datastore, group backupinfo.Group) {
	t.Helper()
	for info, err := range ds.Snapshots(t.Context(), group) {
		if err == nil {
			_, err = ds.Unprotect(t.Context(), info.Snapshot, datastore.UnprotectOptions{})
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// checkEncrypted restores what was encrypted, which the check of every store passes over.
func checkEncrypted(t *testing.T, store *testds.Store, injected fmt.Stringer) {
	t.Helper()
	ds, key := store.Open(datastore.Options{}), testKey(t, 1)
	for _, snapshot := range store.Finished() {
		for _, name := range []string{testds.ImageName, testds.BlobName} {
			if _, err := readWith(t, ds, snapshot, name, key); err != nil {
				t.Errorf("%s: finished snapshot %s does not restore: %v", injected, snapshot, err)
			}
		}
	}
}
