package flock

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lockLine is what the kernel prints about one lock, in /proc/locks and after
// "lock:" in /proc/PID/fdinfo/FD:
//
//	1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF
//	number kind manner  mode  pid  major:minor:inode first last
//
// Major and minor are hexadecimal. The pid is that of the process that took the
// lock, which may have passed it on and died; 0 or -1 where there is none.
type lockLine struct {
	kind Kind
	mode Mode
	pid  int
	id   ident
}

// parseLockLine tells whether the line is about a lock of ours that is held: not
// one that is waited for ("->"), and no lease.
func parseLockLine(line string) (lockLine, bool) {
	f := strings.Fields(line)
	if len(f) < 6 {
		return lockLine{}, false
	}
	kind, ok1 := parseKind(f[1])
	mode, ok2 := parseMode(f[3])
	pid, err := strconv.Atoi(f[4])
	id, ok3 := parseIdent(f[5])
	return lockLine{kind, mode, pid, id}, ok1 && ok2 && ok3 && err == nil
}

func parseKind(s string) (Kind, bool) {
	switch s {
	case "FLOCK":
		return Flock, true
	case "POSIX":
		return Record, true
	case "OFDLCK":
		return OFD, true
	}
	return 0, false
}

func parseMode(s string) (Mode, bool) {
	switch s {
	case "READ":
		return Shared, true
	case "WRITE":
		return Exclusive, true
	}
	return 0, false
}

func parseIdent(s string) (ident, bool) {
	major, rest, ok1 := strings.Cut(s, ":")
	minor, inode, ok2 := strings.Cut(rest, ":")
	ma, err1 := strconv.ParseUint(major, 16, 32)
	mi, err2 := strconv.ParseUint(minor, 16, 32)
	ino, err3 := strconv.ParseUint(inode, 10, 64)
	if !ok1 || !ok2 || err1 != nil || err2 != nil || err3 != nil {
		return ident{}, false
	}
	return ident{unix.Mkdev(uint32(ma), uint32(mi)), ino}, true
}
