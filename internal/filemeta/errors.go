package filemeta

import (
	"errors"
	"fmt"
)

// Step is one part of what [Apply] does.
type Step int

// The steps, in their order; the zero value is none of them.
const (
	StepOwner Step = iota + 1
	StepXattr
	StepCapabilities
	StepQuota
	StepACL
	StepMode
	StepTime
	StepFlags
)

// String is "owner", "xattr", "fcaps", "quota", "acl", "mode", "times" or "flags".
func (s Step) String() string {
	names := [...]string{"unknown step", "owner", "xattr", "fcaps", "quota", "acl", "mode", "times", "flags"}
	if s < 0 || int(s) >= len(names) {
		return names[0]
	}
	return names[s]
}

// Error is a step that did not succeed.
type Error struct {
	Step Step
	// Detail is the name of the attribute, or what could not be done, or empty.
	Detail string
	// Err is what the system said.
	Err error
}

func (e *Error) Error() string {
	if e.Detail != "" {
		return fmt.Sprintf("%v %s: %v", e.Step, e.Detail, e.Err)
	}
	return fmt.Sprintf("%v: %v", e.Step, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

var (
	// errUnsupported is turned into nothing, or into an error where something is lost.
	errUnsupported = errors.New("the file system has no such thing")

	// ErrValue is wrapped by the error for a value that no file can have.
	ErrValue = errors.New("not a value that a file can have")

	// ErrForeign is wrapped by the error of the bits that let a program run as its owner or its group,
	// and that were left out because the owner or the group is another one.
	ErrForeign = errors.New("left out: the file belongs to somebody else here")
)
