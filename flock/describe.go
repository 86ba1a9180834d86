package flock

import (
	"bytes"
	"os/user"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/procstat"
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
	stat, ok := procstat.Parse(readHead(dir+"/stat", buf))
	h.Command = printable(readHead(dir+"/cmdline", buf), stat.Name)
	if uid, found := parseUID(string(readHead(dir+"/status", buf))); found {
		h.UID, h.User = uid, userName(uid)
	}
	const most = 1 << 39 // so that it fits a Duration
	if ok = ok && stat.Start < most; ok {
		h.Ticks = stat.Start
	}
	if boot, known := bootTime(); known && ok {
		started := boot.Add(time.Duration(stat.Start) * (time.Second / ticksPerSecond))
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

// isOver tells whether a process has ended and only waits to be noticed.
func (p procfs) isOver(pid int, buf []byte) bool {
	stat, ok := procstat.Parse(readHead(p.root+"/"+strconv.Itoa(pid)+"/stat", buf))
	return ok && stat.Over()
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
