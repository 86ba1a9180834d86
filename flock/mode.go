package flock

import "fmt"

// Mode is what a lock lets others do.
type Mode int

const (
	Shared    Mode = iota // others may hold it shared
	Exclusive             // nobody else may hold it
)

func (m Mode) String() string {
	switch m {
	case Shared:
		return "shared"
	case Exclusive:
		return "exclusive"
	default:
		return fmt.Sprintf("mode %d", int(m))
	}
}

// Kind is a family of locks of the kernel. Flock conflicts only with Flock;
// Record and OFD conflict with each other.
type Kind int

const (
	Flock  Kind = iota // flock(2), on an open file
	Record             // fcntl(2) F_SETLK, of a process: what older programs use
	OFD                // fcntl(2) F_OFD_SETLK, on an open file
)

func (k Kind) String() string {
	switch k {
	case Flock:
		return "flock"
	case Record:
		return "posix"
	case OFD:
		return "ofd"
	default:
		return fmt.Sprintf("kind %d", int(k))
	}
}

// call is the system call's name, for errors.
func (k Kind) call() string {
	if k == Flock {
		return "flock"
	}
	return "fcntl"
}

// conflicts tells whether a holder keeps somebody from having k in mode m.
func (k Kind) conflicts(m Mode, o owner) bool {
	return (k == Flock) == (o.kind == Flock) && (m == Exclusive || o.mode == Exclusive)
}
