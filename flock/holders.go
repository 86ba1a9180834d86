package flock

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Holders lists the processes that hold any kind of lock on the file that f has
// open, by PID, each kind and mode once. Its own process is one of them. The
// kernel tells it through /proc; who is hidden there (another host, another
// user's process, a container) is listed with what is known, or not at all, and
// that is no error. The only errors are those of fstat(2) on f.
func Holders(f *os.File) ([]Holder, error) {
	return holdersIn(procfs{"/proc"}, f)
}

func holdersIn(p procfs, f *os.File) ([]Holder, error) {
	var st unix.Stat_t
	err := withFD(f, func(fd int) error { return fstat(fd, &st) })
	if err != nil {
		return nil, pathError("fstat", f.Name(), err)
	}
	var found []Holder
	for _, o := range p.search(f, identOf(&st)) {
		found = append(found, p.describe(o))
	}
	return found, nil
}

// conflicting lists the holders that keep somebody from having f.
func conflicting(f *os.File, kind Kind, mode Mode) []Holder {
	all, err := Holders(f)
	if err != nil {
		return nil // it is busy all the same, and only that is certain
	}
	return slices.DeleteFunc(all, func(h Holder) bool { return !kind.conflicts(mode, h) })
}
