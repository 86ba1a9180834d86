package fsoptest

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

// when says at which side of the change the script acts.
type when string

const (
	before when = "before"
	after  when = "after"
)

// A Script records the changes that are made through its Disk and acts at one
// of them. The changes are counted from 0, over all goroutines together.
// A script acts once; make a new one for each run.
type Script struct {
	n     int // -1: none
	when  when
	what  string // "fail", "die", "kill", "pause" or "record"
	errno unix.Errno
	act   func(n int, c fsop.Change) error

	mu       sync.Mutex
	changes  []fsop.Change
	injected bool
}

// Record makes a script that only records.
func Record() *Script { return &Script{n: -1, what: "record"} }

// FailAt makes change n fail with errno instead of happening.
func FailAt(n int, errno unix.Errno) *Script { return fail(n, before, errno) }

// FailAfter lets change n happen and then reports that it failed with errno.
func FailAfter(n int, errno unix.Errno) *Script { return fail(n, after, errno) }

func fail(n int, w when, errno unix.Errno) *Script {
	act := func(int, fsop.Change) error { return errno }
	return &Script{n: n, when: w, what: "fail", errno: errno, act: act}
}

// FailFrom makes change n and all later ones fail with errno: the disk is gone.
func FailFrom(n int, errno unix.Errno) *Script {
	s := fail(n, before, errno)
	s.what = "die"
	return s
}

// KillAt kills the process with SIGKILL when change n is about to be made.
func KillAt(n int) *Script { return kill(n, before) }

// KillAfter kills the process with SIGKILL when change n has just been made.
func KillAfter(n int) *Script { return kill(n, after) }

func kill(n int, w when) *Script {
	return &Script{n: n, when: w, what: "kill", act: killSelf}
}

func killSelf(int, fsop.Change) error {
	if err := unix.Kill(os.Getpid(), unix.SIGKILL); err != nil {
		return err
	}
	select {} // the signal may reach another thread first
}

// PauseAt stops before change n: it says `at N OP "PATH"` and goes on when next
// returns. If next returns an error the change fails with that. In a helper
// process, say and next write to and read from the process that started it.
func PauseAt(n int, say func(line string), next func() (string, error)) *Script {
	return pause(n, before, say, next)
}

// PauseAfter is PauseAt with the change already made.
func PauseAfter(n int, say func(line string), next func() (string, error)) *Script {
	return pause(n, after, say, next)
}

func pause(n int, w when, say func(string), next func() (string, error)) *Script {
	act := func(n int, c fsop.Change) error {
		say(fmt.Sprintf("at %d %s", n, c))
		_, err := next()
		return err
	}
	return &Script{n: n, when: w, what: "pause", act: act}
}

// Disk is a disk on which the script is played.
func (s *Script) Disk() *fsop.Disk {
	// After can't see which number its change had: changes of other goroutines
	// may have begun meanwhile. So only the one at which to act is remembered.
	var due, taken bool
	var at fsop.Change
	return &fsop.Disk{
		Before: func(c fsop.Change) error {
			n, hit := s.count(c)
			if hit && s.when == before {
				return s.act(n, c)
			}
			if hit {
				s.mu.Lock()
				due, at = true, c
				s.mu.Unlock()
			}
			return nil
		},
		After: func(c fsop.Change, result error) error {
			s.mu.Lock()
			hit := due && !taken && c == at
			taken = taken || hit
			s.mu.Unlock()
			if !hit {
				return result
			}
			if err := s.act(s.n, c); err != nil {
				return err
			}
			return result
		},
	}
}

// count records a change and says whether it is one to act at.
func (s *Script) count(c fsop.Change) (n int, hit bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = len(s.changes)
	s.changes = append(s.changes, c)
	hit = n == s.n || s.what == "die" && n > s.n
	s.injected = s.injected || hit
	return n, hit
}

// Changes are the changes so far, in the order in which they began, with those
// that the script made fail.
func (s *Script) Changes() []fsop.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changes)
}

// Injected says whether the script has acted: whether there were so many changes.
func (s *Script) Injected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.injected
}

// String tells what the script did and at which change, for a test's message.
func (s *Script) String() string {
	if s.n < 0 {
		return "no change was made to fail"
	}
	what := map[string]string{
		"fail":  "failed with " + unix.ErrnoName(s.errno),
		"die":   "and all later ones failed with " + unix.ErrnoName(s.errno),
		"kill":  "killed",
		"pause": "paused",
	}[s.what]
	changes := s.Changes()
	if len(changes) <= s.n {
		return fmt.Sprintf("change %d not reached (%s %s)", s.n, s.when, what)
	}
	return fmt.Sprintf("change %d, %s: %s it was made, %s", s.n, changes[s.n], s.when, what)
}
