package flock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Holders lists the processes that hold any kind of lock on the file that f has
// open, by PID, each kind and mode once. Its own process is one of them. The
// kernel tells it through /proc; who is hidden there (another host, another
// user's process, a container) is listed with what is known, or not at all, and
// that is no error. A child that shares an open file with the process that locked
// it is listed when that process is gone. The only errors are those of fstat(2).
func Holders(f *os.File) ([]Holder, error) {
	return holdersIn(procfs{"/proc"}, f)
}

func holdersIn(p procfs, f *os.File) (found []Holder, err error) {
	err = withFD(f, func(fd int) error {
		var st unix.Stat_t
		err := fstat(fd, &st)
		if err == nil {
			found = p.holders(fd, identOf(&st))
		}
		return err
	})
	return found, pathError("fstat", f.Name(), err)
}

func (p procfs) holders(fd int, id ident) []Holder {
	var found []Holder
	for _, o := range p.search(fd, id) {
		found = append(found, p.describe(o))
	}
	return found
}

// conflicting lists the holders that keep somebody from having the file.
func conflicting(fd int, id ident, kind Kind, mode Mode) []Holder {
	var found []Holder
	p := procfs{"/proc"}
	for _, o := range p.search(fd, id) {
		if kind.conflicts(mode, o) {
			found = append(found, p.describe(o))
		}
	}
	return found
}
