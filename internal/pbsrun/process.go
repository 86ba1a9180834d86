package pbsrun

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/procstat"
)

// startTime is when a process started, in ticks since the machine did. A process
// that has ended and was not waited for counts as gone.
func startTime(pid int) (uint64, error) {
	p, err := procstat.Of(pid)
	if err == nil && p.Over() {
		err = fs.ErrNotExist
	}
	return p.Start, err
}

// alive tells whether a process of that number and start still runs. One that may
// not be looked at counts as alive: it would be forgotten while it works.
func alive(pid int, start uint64) bool {
	if pid <= 0 {
		return false
	}
	if now, err := startTime(pid); err == nil {
		return now == start
	}
	return errors.Is(unix.Kill(pid, 0), unix.EPERM)
}
