package fsoptest

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Spec is the script as one word, to hand to another process as an argument.
// A script that pauses gives the word of one that has still to be told how.
func (s *Script) Spec() string {
	if s.n < 0 {
		return "record"
	}
	spec := fmt.Sprintf("%s-%s-%d", s.what, s.when, s.n)
	if s.errno != 0 {
		spec += fmt.Sprintf("-%d", int(s.errno))
	}
	return spec
}

// Parse makes the script of a Spec. say and next are what PauseAt takes; they
// may be nil if the script does not pause.
func Parse(spec string, say func(line string), next func() (string, error)) (*Script, error) {
	var n, errno int
	for _, w := range []when{before, after} {
		if scan(spec, "kill-"+string(w)+"-%d", &n) {
			return kill(n, w), nil
		}
		if scan(spec, "pause-"+string(w)+"-%d", &n) && say != nil && next != nil {
			return pause(n, w, say, next), nil
		}
		if scan(spec, "fail-"+string(w)+"-%d-%d", &n, &errno) {
			return fail(n, w, unix.Errno(errno)), nil
		}
	}
	if scan(spec, "die-before-%d-%d", &n, &errno) {
		return FailFrom(n, unix.Errno(errno)), nil
	}
	if spec == "record" {
		return Record(), nil
	}
	return nil, fmt.Errorf("no such script: %q", spec)
}

func scan(spec, format string, into ...any) bool {
	n, err := fmt.Sscanf(spec, format, into...)
	return err == nil && n == len(into)
}
