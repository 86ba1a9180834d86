package pbsrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// startTime is when a process started, in ticks since the machine did. A process
// that has ended and was not waited for counts as gone.
func startTime(pid int) (uint64, error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	// The name of the program comes before, in parentheses, and may contain some.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	const first, field = 3, 22 // of the fields after the name, counted from 1
	if len(fields) <= field-first {
		return 0, &fs.PathError{Op: "read", Path: name, Err: unix.EINVAL}
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return 0, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return strconv.ParseUint(fields[field-first], 10, 64)
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
