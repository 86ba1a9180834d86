package datastore_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// sharedScenarios are those of the scenarios that are gone through once more in a store that
// several hosts share, with what happens to its store locks made to fail.
func sharedScenarios() map[string]scenario {
	names := []string{
		"a backup with a base", "the backup of a group", "removing a snapshot", "removing the last one", "removing a group", "pruning two",
		"moving a group", "merging a group", "moving a namespace", "removing a namespace", "a collection", "protecting", "notes on a snapshot", "notes on a group",
	}
	switch {
	case testing.Short():
		names = []string{"a backup with a base", "removing a group", "pruning two"}
	case sampled():
		names = []string{"a backup with a base", "removing a group", "pruning two", "moving a group", "moving a namespace", "a collection", "notes on a snapshot"}
	}
	some := map[string]scenario{}
	for _, name := range names {
		s := scenarios[name]
		if s.name == "collect" {
			s.data = "shared" // it keeps what is younger than a day
			s.garbage = false
		}
		some[name] = s
	}
	return some
}

// sharedStore is a store whose lock scheme was set, which takes a while, by hand.
func (s scenario) sharedStore(t *testing.T, stale time.Duration) *testds.Store {
	t.Helper()
	store := s.store(t)
	store.Leftovers = true // a clean-up may be what failed, or was not allowed any more
	if err := os.Mkdir(filepath.Join(store.Dir, ".pbs-like-locks"), 0o775); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"format":1,"mode":"shared","stale-ns":%d,"recheck-delay-ns":%d}`, stale, time.Millisecond)
	write(t, filepath.Join(store.Dir, ".pbs-like-locking"), text)
	return store
}

// quiet waits until nothing is removed in the background any more, and tells what store locks are there then.
func quiet(t *testing.T, store *testds.Store, patience time.Duration) (left []datastore.StoreLock) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		left, err := store.Open(datastore.Options{}).StoreLocks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 && !usesStoreLocks(store) || time.Now().After(end) {
			return left
		}
	}
}

func usesStoreLocks(store *testds.Store) bool {
	return slices.ContainsFunc(store.Descriptors(), func(path string) bool { return strings.Contains(path, "/.pbs-like-locks") })
}

// onAnotherHost is the operation on a machine that knows nothing of this one's processes.
func (s scenario) onAnotherHost(wait time.Duration) scenario {
	s.host = host{id: "another", wait: wait}
	return s
}

// TestAStoreLockWhoseDiskFailsLeavesOldOrNewAndKeepsNobodyOut makes every disk operation of every
// store lock fail once, before and after it happened.
func TestAStoreLockWhoseDiskFailsLeavesOldOrNewAndKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	errnos := failureErrnos()
	if sampled() {
		errnos = errnos[:1]
	}
	for name, scenario := range sharedScenarios() {
		for _, errno := range errnos {
			t.Run(name+"/"+unix.ErrnoName(errno), func(t *testing.T) {
				t.Parallel()
				for script := range fsoptest.Failures(t, errno) {
					oneLockFailure(t, scenario, script, errno)
				}
			})
		}
	}
}

func oneLockFailure(t *testing.T, s scenario, script *fsoptest.Script, errno unix.Errno) {
	t.Helper()
	store := s.sharedStore(t, 0)
	err := s.run(t.Context(), store.Dir, ofStoreLocks(script.Disk()), nil)
	if left := quiet(t, store, 10*time.Second); len(left) > 0 {
		t.Errorf("%s: left: %v", script, left)
	}
	done := s.check(t, store, script)
	switch {
	case err == nil && !done:
		t.Errorf("%s: reported as done, and is not", script)
	case err != nil && !errors.Is(err, errno):
		t.Errorf("%s: another error: %v", script, err)
	case err != nil && done && s.before != s.after:
		t.Errorf("%s: it is done, and was reported as failed: %v", script, err)
	}
	if !done || s.before == s.after {
		s.onAnotherHost(0).again(t, store, script)
	}
}

// TestAStoreLockWhoseDiskIsGoneKeepsNobodyOutForLong makes every operation from one on fail: nothing can
// be taken away, and another host has to wait for the stale time, and no longer.
func TestAStoreLockWhoseDiskIsGoneKeepsNobodyOutForLong(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	const stale = time.Second
	for _, name := range []string{"a backup with a base", "removing a group", "a collection", "moving a group"} {
		scenario := sharedScenarios()[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 0; ; n += sampleOf(5, 5) {
				script := fsoptest.FailFrom(n, unix.EIO)
				store := scenario.sharedStore(t, stale)
				err := scenario.run(t.Context(), store.Dir, ofStoreLocks(script.Disk()), nil)
				quiet(t, store, 3*stale)
				done := scenario.check(t, store, script)
				if err == nil && !done {
					t.Errorf("%s: reported as done, and is not", script)
				}
				if err != nil && !errors.Is(err, unix.EIO) {
					t.Errorf("%s: another error: %v", script, err)
				}
				if !done || scenario.before == scenario.after {
					scenario.onAnotherHost(20*stale).again(t, store, script)
				}
				if !script.Injected() {
					return
				}
			}
		})
	}
}

// TestAKillInAStoreLockKeepsNobodyOut kills a process before and after each disk operation of its store locks.
// On the same machine its death is proven, so that the next one goes on at once.
func TestAKillInAStoreLockKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	for _, name := range slices.Sorted(maps.Keys(sharedScenarios())) {
		s := sharedScenarios()[name]
		for i, when := range []string{"kill-before", "kill-after"} {
			t.Run(name+"/"+when, func(t *testing.T) {
				t.Parallel()
				step := sampleOf(5, 5)
				for n := (i * 2) % step; ; n += step {
					script := spec(fmt.Sprintf("%s-%d", when, n))
					store := s.sharedStore(t, 0)
					p := s.start(t, store, "locks "+string(script))
					died := p.Ended() != nil
					if done := s.check(t, store, script); !done || s.before == s.after {
						s.again(t, store, script)
					}
					if !died {
						return
					}
				}
			})
		}
	}
}
