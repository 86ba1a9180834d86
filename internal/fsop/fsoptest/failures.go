package fsoptest

import (
	"iter"
	"testing"

	"golang.org/x/sys/unix"
)

// maxPoints ends a test whose operation never gets through.
const maxPoints = 100_000

// Failures gives one script after the other: change 0 fails with errno, then
// it happens and is said to have failed, then the same with change 1, and so
// on. It ends after the first script that had nothing to do, because the
// operation made fewer changes: in that last run the operation was undisturbed.
// Each run must do the same from the start, in a fresh directory.
//
// If the test fails in a run, it logs what that run's script did.
func Failures(t testing.TB, errno unix.Errno) iter.Seq[*Script] {
	t.Helper()
	return points(t, func(n int) []*Script {
		return []*Script{FailAt(n, errno), FailAfter(n, errno)}
	})
}

// Deaths is like [Failures], with all changes from one on failing: nothing can
// be cleaned up either.
func Deaths(t testing.TB, errno unix.Errno) iter.Seq[*Script] {
	t.Helper()
	return points(t, func(n int) []*Script { return []*Script{FailFrom(n, errno)} })
}

func points(t testing.TB, scripts func(n int) []*Script) iter.Seq[*Script] {
	t.Helper()
	return func(yield func(*Script) bool) {
		for n := range maxPoints {
			for _, s := range scripts(n) {
				if !play(t, s, yield) || !s.Injected() {
					return
				}
			}
		}
		t.Errorf("still failing after %d failure points", maxPoints)
	}
}

// play runs one round; also when the round ends the test with t.Fatal, the
// message is logged.
func play(t testing.TB, s *Script, yield func(*Script) bool) bool {
	t.Helper()
	failed := t.Failed()
	defer func() {
		if !failed && t.Failed() {
			t.Logf("injected: %s", s)
		}
	}()
	return yield(s)
}
