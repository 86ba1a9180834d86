package storelock

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The numbers that the original gives its errors, and exits with.
const (
	codeError     = 70
	codeFailed    = 72
	codeTimeout   = 73
	codeNotLocked = 74
	codeNotMine   = 75
)

var (
	// ErrTimeout: others hold the lock, and did until the time was over. The
	// error is a *LockedError. Its number is 73.
	ErrTimeout = errors.New("locked")

	// ErrLost: the lock was held and is not any more, or that could not be made
	// certain in time. The work under it has to stop. Its number is 73.
	ErrLost = errors.New("the lock was lost")

	// ErrFailed: the store did not do what a lock needs of it; the cause is
	// wrapped too. Nothing is held. Its number is 72.
	ErrFailed = errors.New("the lock could not be taken")

	// ErrNotLocked: what was to be released was not there any more. Its number is 74.
	ErrNotLocked = errors.New("not locked")

	// ErrNotMine: what was to be adopted, or was handed over, belongs to another
	// owner. Its number is 75.
	ErrNotMine = errors.New("the lock belongs to somebody else")

	// ErrOptions: the options do not fit together. Its number is 70.
	ErrOptions = errors.New("these lock options can't work")

	// ErrStore: a store does not keep the promises that a lock rests on. Its number is 70.
	ErrStore = errors.New("the store does not keep its promises")
)

// Code returns the number that the original gives to an error of this kind: 70
// to 75, or 0 for an error that is not from this package. 71, the original's
// error with a trace of its program, is never returned.
func Code(err error) int {
	for _, e := range []struct {
		err  error
		code int
	}{
		{ErrLost, codeTimeout},
		{ErrTimeout, codeTimeout},
		{ErrNotLocked, codeNotLocked},
		{ErrNotMine, codeNotMine},
		{ErrFailed, codeFailed},
		{ErrOptions, codeError},
		{ErrStore, codeError},
	} {
		if errors.Is(err, e.err) {
			return e.code
		}
	}
	return 0
}

// LockedError says who was in the way. It unwraps to ErrTimeout.
type LockedError struct {
	Store     string // which lock, as the backend calls it
	Exclusive bool   // what was asked for
	Waited    time.Duration
	Holders   []Info // may be empty: whoever was there has gone at the last moment, or waits before us
	More      int    // holders that are not among them: only the first are told
}

// Error returns one line for a human.
func (e *LockedError) Error() string {
	mode := "shared"
	if e.Exclusive {
		mode = "exclusive"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q is locked: no %s lock after %v", e.Store, mode, e.Waited.Round(time.Millisecond))
	for _, h := range e.Holders {
		b.WriteString("; held " + h.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and by %d more", e.More)
	}
	return b.String()
}

// Unwrap returns ErrTimeout.
func (e *LockedError) Unwrap() error { return ErrTimeout }
