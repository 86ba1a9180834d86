package flock

import (
	"bytes"
	"os/user"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxCommand is how many bytes of a command line are shown, before quoting.
const maxCommand = 160

// ticksPerSecond is the unit of start times in /proc: USER_HZ, which has been 100
// on every architecture that Go runs on.
const ticksPerSecond = 100

// describe adds to a holder what /proc tells about its process. A process may
// vanish in between, so each fact is read by itself and may be missing.
func (p procfs) describe(o owner) Holder {
	h := Holder{PID: o.pid, UID: -1, Mode: o.mode, Kind: o.kind}
	if o.pid <= 0 {
		return h
	}
	dir := p.root + "/" + strconv.Itoa(o.pid)
	buf := make([]byte, maxInfo)
	name, ticks, ok := parseStat(string(readHead(dir+"/stat", buf)))
	h.Command = printable(readHead(dir+"/cmdline", buf), name)
	if uid, found := parseUID(string(readHead(dir+"/status", buf))); found {
		h.UID, h.User = uid, userName(uid)
	}
	if ok {
		h.Ticks = ticks
	}
	if boot, known := bootTime(); known && ok {
		started := boot.Add(time.Duration(ticks) * (time.Second / ticksPerSecond))
		h.Since = started.Round(time.Second).UTC() // the two clocks drift by less
	}
	return h
}

// printable makes one line of a command line, or of the short name if there is
// none. Both are chosen by that process, which may be up to no good: they are
// quoted so that they can neither steer a terminal nor pretend to be more of
// the message.
func printable(cmdline []byte, name string) string {
	args := strings.ReplaceAll(string(bytes.TrimRight(cmdline, "\x00")), "\x00", " ")
	if strings.TrimSpace(args) == "" {
		args = name
	}
	args, cut := shorten(args)
	quoted := strconv.Quote(args)
	return quoted[1:len(quoted)-1] + cut
}

// shorten cuts between two characters.
func shorten(s string) (head, mark string) {
	if len(s) <= maxCommand {
		return s, ""
	}
	end := maxCommand
	for end > maxCommand-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end], "…"
}

// parseStat reads the short name and the start time, in ticks since the machine
// started, from /proc/PID/stat. The name is in parentheses and may contain some
// itself, so the fields after it are counted from the last one.
func parseStat(stat string) (name string, ticks uint64, ok bool) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return "", 0, false
	}
	name = stat[open+1 : end]
	fields := strings.Fields(stat[end+1:])
	const startTime = 22 - 3 // field 22; the first one here is field 3
	if len(fields) <= startTime {
		return name, 0, false
	}
	ticks, err := strconv.ParseUint(fields[startTime], 10, 64)
	return name, ticks, err == nil && ticks < 1<<39 // as a Duration it fits
}

// isOver tells whether a process has ended and only waits to be noticed: it has no
// descriptors any more, and so no locks.
func (p procfs) isOver(pid int, buf []byte) bool {
	stat := string(readHead(p.root+"/"+strconv.Itoa(pid)+"/stat", buf))
	rest := strings.TrimSpace(stat[strings.LastIndexByte(stat, ')')+1:])
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// parseUID reads the effective user from /proc/PID/status.
func parseUID(status string) (int, bool) {
	for line := range strings.Lines(status) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "Uid:" {
			uid, err := strconv.Atoi(f[2])
			return uid, err == nil
		}
	}
	return -1, false
}

func userName(uid int) string {
	digits := strconv.Itoa(uid)
	if u, err := user.LookupId(digits); err == nil && u.Username != "" {
		return u.Username
	}
	return digits
}

// bootTime returns when the machine started, by today's clock.
func bootTime() (time.Time, bool) {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}, false
	}
	return time.Now().Add(-time.Duration(up.Nano())), true
}
