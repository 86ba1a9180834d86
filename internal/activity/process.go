package activity

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
	start, err := startOf(pid)
	return Process{pid, start}, err == nil
}

// startOf reads field 22 of /proc/PID/stat, see proc_pid_stat(5). The second field is
// the program's name in parentheses, which may hold anything.
func startOf(pid int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const startTime = 22 - 3
	if len(fields) <= startTime {
		return 0, unix.EINVAL
	}
	return strconv.ParseUint(string(fields[startTime]), 10, 64)
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
	now, err := startOf(pid)
	if err == nil {
		return now != start
	}
	return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}
