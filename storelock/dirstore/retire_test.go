package dirstore_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

func TestALockDirectoryIsRetiredOnlyWhereNobodyHasTheLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string
		gone  bool
	}{
		"never used":             {nil, true},
		"used once":              {[]string{"locks/", "queue/"}, true},
		"a ticket, a probe":      {[]string{"locks/", "queue/t0-x", "probe/x"}, true},
		"a writer that died":     {[]string{"locks/tmpabcdefgh.tmp", "queue/tmpabcdefgh.tmp"}, true},
		"a lock":                 {[]string{"locks/0123456789abcdef"}, false},
		"garbage":                {[]string{"locks/x"}, false},
		"files that were spared": {[]string{"locks/x.abc.del/precious"}, false},
		"something else":         {[]string{"notes"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, "lock"), 0o755))
			for _, file := range c.files {
				path := filepath.Join(dir, "lock", file)
				must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				if file[len(file)-1] == '/' {
					must(t, os.MkdirAll(path, 0o755))
					continue
				}
				must(t, os.WriteFile(path, []byte("{"), 0o644))
			}
			s := open(t, dir, dirstore.Options{})
			gone, err := s.Retire(t.Context(), "lock")
			_, there := os.Stat(filepath.Join(dir, "lock"))
			if err != nil || gone != c.gone || gone == (there == nil) {
				t.Errorf("%v, %v, there: %v", gone, err, there == nil)
			}
			if last := len(c.files) - 1; !c.gone {
				if _, err := os.Stat(filepath.Join(dir, "lock", c.files[last])); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestALockIsNeverHadTwiceWhileItsDirectoryIsRetired: those who take it meanwhile may fail, and never both succeed.
func TestALockIsNeverHadTwiceWhileItsDirectoryIsRetired(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	judge := filepath.Join(t.TempDir(), "referee")
	must(t, os.WriteFile(judge, nil, 0o600))
	s := open(t, dir, dirstore.Options{})
	end := time.Now().Add(2 * time.Second)
	var all sync.WaitGroup
	retired, had := 0, 0
	all.Go(func() {
		for time.Now().Before(end) {
			gone, err := s.Retire(t.Context(), "lock")
			if err != nil {
				t.Error(err)
			}
			if gone {
				retired++
			}
		}
	})
	var mu sync.Mutex
	for range 4 {
		f, err := os.OpenFile(judge, os.O_RDWR, 0)
		must(t, err)
		defer f.Close()
		all.Go(func() {
			for time.Now().Before(end) {
				g, err := storelock.Acquire(t.Context(), s.Resource("lock"), storelock.Options{Exclusive: true, RecheckDelay: time.Millisecond, Timeout: 50 * time.Millisecond})
				if err != nil {
					continue
				}
				if (referee{f}).enter(true) {
					t.Error("two at a time")
				}
				mu.Lock()
				had++
				mu.Unlock()
				referee{f}.leave()
				must(t, g.Close())
			}
		})
	}
	all.Wait()
	t.Logf("had %d times, retired %d times", had, retired)
	if had == 0 || retired == 0 {
		t.Errorf("had %d times, retired %d times", had, retired)
	}
}

func TestEachFailingStepOfRetiringLeavesALockThatWorks(t *testing.T) {
	t.Parallel()
	for script := range fsoptest.Failures(t, unix.EIO) {
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "lock", "queue"), 0o755))
		must(t, os.MkdirAll(filepath.Join(dir, "lock", "locks"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "lock", "queue", "t0-x"), nil, 0o644))
		if gone, err := open(t, dir, dirstore.Options{Disk: script.Disk()}).Retire(t.Context(), "lock"); (err != nil) != script.Injected() || gone == (err != nil) {
			t.Errorf("%v: %v, %v", script, gone, err)
		}
		g, err := storelock.Acquire(t.Context(), open(t, dir, dirstore.Options{}).Resource("lock"), storelock.Options{Exclusive: true})
		must(t, err)
		must(t, g.Close())
	}
}
