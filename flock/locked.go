package flock

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// LockedError says that somebody holds a lock that conflicts, and who, as far as
// that can be found out. It unwraps to [ErrLocked].
type LockedError struct {
	Path    string   // what is locked
	Mode    Mode     // what was asked for
	Holders []Holder // may be empty, and may have changed since
}

// Unwrap returns [ErrLocked].
func (e *LockedError) Unwrap() error { return ErrLocked }

// maxShown bounds the message. All holders are in the field.
const maxShown = 5

// Error returns one line for a human.
func (e *LockedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q is in use: locked ", e.Path)
	if len(e.Holders) == 0 {
		b.WriteString("by somebody who can't be seen from here")
	}
	for i, h := range e.Holders[:min(len(e.Holders), maxShown)] {
		if i > 0 {
			b.WriteString(", and ")
		}
		b.WriteString(h.String())
	}
	if more := len(e.Holders) - maxShown; more > 0 {
		fmt.Fprintf(&b, ", and by %d more", more)
	}
	return b.String()
}

// Holder is a process that holds a lock. What could not be found out is zero, or
// -1 for PID and UID.
type Holder struct {
	PID     int       // as seen from this process' namespace; -1: unknown
	Command string    // its arguments, quoted as by strconv.Quote, cut when long
	User    string    // name, or the number in digits
	UID     int       // effective user; -1: unknown
	Mode    Mode      // how it holds the lock
	Since   time.Time // when the process started, which is before it took the lock
	Kind    Kind      // what it holds

	// Ticks is Since as /proc has it, exactly: in clock ticks after the start of the
	// machine. With PID it tells a process from all others. 0: unknown.
	Ticks uint64
	// Doing is what the process is at, in words. It is never filled in here: who knows
	// more of the process than that it holds a lock may do so. It is shown as it is.
	Doing string
}

// String describes the holder in words, such as
//
//	exclusively by pid 4711 ("pbs-like backup", user root, running since 2026-01-02T03:04:05Z)
func (h Holder) String() string {
	manner := "exclusively"
	if h.Mode == Shared {
		manner = "shared"
	}
	switch {
	case h.PID <= 0:
		return manner + " by an unknown process"
	case h.PID == self():
		return fmt.Sprintf("%s by this process (pid %d)", manner, h.PID)
	}
	var facts []string
	if h.Command != "" {
		facts = append(facts, `"`+h.Command+`"`)
	}
	if h.User != "" {
		facts = append(facts, "user "+h.User)
	}
	if !h.Since.IsZero() {
		facts = append(facts, "running since "+h.Since.UTC().Format(time.RFC3339))
	}
	text := fmt.Sprintf("%s by pid %d", manner, h.PID)
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	if h.Doing != "" {
		text += ": " + h.Doing
	}
	return text
}

// self is this process' number as /proc has it, which is another one than its own
// where /proc belongs to an outer namespace.
func self() int {
	link, _ := os.Readlink("/proc/self")
	if pid, err := strconv.Atoi(link); err == nil {
		return pid
	}
	return os.Getpid()
}
