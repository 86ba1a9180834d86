package activity

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/procstat"
)

// self is this process as /proc has it: where /proc belongs to an outer namespace,
// under the number that others there know.
func self() (Process, bool) {
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return Process{}, false
	}
	pid, err := strconv.Atoi(link)
	if err != nil {
		return Process{}, false
	}
	stat, err := procstat.Of(pid)
	return Process{pid, stat.Start}, err == nil
}

// isOver tells whether the process that a file is named after is gone. One that may
// not be looked at is not.
func isOver(name string) bool {
	pidText, rest, ok1 := strings.Cut(name, "-")
	startText, _, ok2 := strings.Cut(rest, "-")
	pid, err1 := strconv.Atoi(pidText)
	start, err2 := strconv.ParseUint(startText, 10, 64)
	if !ok1 || !ok2 || err1 != nil || err2 != nil || pid <= 0 {
		return false // not ours
	}
	now, err := procstat.Of(pid)
	if err == nil {
		return now.Start != start
	}
	return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}
