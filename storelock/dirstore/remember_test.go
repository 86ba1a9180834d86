package dirstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

// TestAttemptsThatDoNotWaitShareWhatTheyHaveSeen: none of them lives as long as it
// takes until a lock is stale.
func TestAttemptsThatDoNotWaitShareWhatTheyHaveSeen(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	s := open(t, dir, dirstore.Options{})
	for name, remember := range map[string]storelock.Options{"in a file": {StateFile: state}, "in memory": {Memory: &storelock.Memory{}}} {
		must(t, s.Store(t.Context(), "locks/garbage", []byte("{")))
		try := func() error {
			o := quick(true)
			o.Timeout, o.StateFile, o.Memory = 0, remember.StateFile, remember.Memory
			g, err := storelock.Acquire(t.Context(), s, o)
			return errors.Join(err, g.Close())
		}
		start := time.Now()
		for try() != nil {
			if time.Since(start) > 20*soon {
				t.Fatalf("%s: never taken", name)
			}
			time.Sleep(soon / 20) // as another run of a program would
		}
		if took := time.Since(start); took < soon {
			t.Errorf("%s: taken after %v", name, took)
		}
	}
}

func TestARememberedObjectThatHasChangedIsFresh(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	s := open(t, dir, dirstore.Options{})
	o := quick(true)
	o.Timeout, o.StateFile = 0, state
	for n := range 3 {
		must(t, s.Store(t.Context(), "locks/garbage", []byte{byte(n)}))
		if _, err := storelock.Acquire(t.Context(), s, o); !errors.Is(err, storelock.ErrTimeout) {
			t.Errorf("round %d: %v", n, err)
		}
		o.Memory = &storelock.Memory{} // what only the file has counts too
		time.Sleep(soon * 2 / 3)       // the sum is more than the stale time
	}
	for _, text := range []string{"", "{", `{"boot-id": "another", "stores": {"` + dir + `": {"garbage": {"since": 1, "sum": 1}}}}`} {
		must(t, os.WriteFile(state, []byte(text), 0o600))
		if _, err := storelock.Acquire(t.Context(), s, o); !errors.Is(err, storelock.ErrTimeout) {
			t.Errorf("state %q: %v", text, err)
		}
	}
}
