package backupinfo

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/pbs-like/pbs-like/internal/unitname"
)

// UPID names one task that ran on one node: verification leaves the UPID of the
// task in the manifest.
type UPID struct {
	Node         string // host name: letters, digits and inner hyphens
	PID          uint32
	ProcessStart uint64 // of the process, in clock ticks since boot
	TaskID       uint64 // counts within the process
	Start        int64  // epoch seconds, 0 to 2^32-1
	WorkerType   string // what the task does, "verify"
	WorkerID     string // on what, "store:vm/100", may be empty
	AuthID       AuthID // for whom
}

// maxUPID bounds the text of a UPID.
const maxUPID = 4096

// ParseUPID reads the text form
//
//	UPID:node:PID:PSTART:TASKID:START:type:id:authid:
//
// with numbers in hex of either case, 8 digits and for PSTART and TASKID up to
// 16. Within id, "-" stands for "/" and \xNN for any other byte.
func ParseUPID(s string) (UPID, error) {
	u, ok := parseUPID(s)
	if !ok {
		return UPID{}, fmt.Errorf("UPID %s: the form is UPID:node:pid:pstart:taskid:start:type:id:authid: with numbers in hex", quote(s))
	}
	return u, nil
}

func parseUPID(s string) (UPID, bool) {
	if len(s) > maxUPID || strings.ContainsFunc(s, unicode.IsSpace) {
		return UPID{}, false
	}
	f := strings.Split(s, ":")
	if len(f) != 10 || f[0] != "UPID" || f[9] != "" || !isNodeName(f[1]) || f[6] == "" {
		return UPID{}, false
	}
	pid, ok1 := parseHex(f[2], 8)
	pstart, ok2 := parseHex(f[3], 16)
	task, ok3 := parseHex(f[4], 16)
	start, ok4 := parseHex(f[5], 8)
	id, ok5 := unitname.Unescape(f[7])
	owner, err := ParseAuthID(f[8])
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || err != nil {
		return UPID{}, false
	}
	return UPID{f[1], uint32(pid), pstart, task, int64(start), f[6], id, owner}, true
}

// String returns the text form, with upper-case hex.
func (u UPID) String() string {
	return fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%08X:%s:%s:%s:",
		u.Node, u.PID, u.ProcessStart, u.TaskID, u.Start, u.WorkerType, unitname.Escape(u.WorkerID), u.AuthID)
}

// Validate reports what is wrong with a UPID put together by hand: nil means that
// its text reads back as the same value.
func (u UPID) Validate() error {
	text := u.String()
	back, err := ParseUPID(text)
	if err == nil && back != u {
		err = fmt.Errorf("UPID %s: does not read back as the same", quote(text))
	}
	return err
}

// parseHex reads 8 to most hex digits.
func parseHex(s string, most int) (uint64, bool) {
	if len(s) < 8 || len(s) > most {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 16, 64)
	return n, err == nil
}

func isNodeName(s string) bool {
	for i := range len(s) {
		inner := i > 0 && i < len(s)-1
		if c := s[i]; !isAlphanumeric(c) && (c != '-' || !inner) {
			return false
		}
	}
	return s != ""
}

func isAlphanumeric(c byte) bool { return isIDByte(c, true) && c != '_' }
