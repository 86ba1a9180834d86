package pxar

import (
	"errors"
	"fmt"
	"io"
)

var (
	// ErrCorrupt means that the bytes are no archive, or a damaged one. What was read up to there is good.
	ErrCorrupt = errors.New("corrupt archive")
	// ErrNotFound means that there is no entry of that name.
	ErrNotFound = errors.New("not in the archive")
	// ErrNotDirectory means that a name leads through, or to, something that is no directory.
	ErrNotDirectory = errors.New("not a directory")
	// ErrNoPayload means that the content is in a payload stream (.ppxar), which was not given.
	ErrNoPayload = errors.New("the archive's payload is missing")
)

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// cutShort makes the end of the source damage, and leaves its other errors as they are.
func cutShort(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: cut off in %s: %w", ErrCorrupt, what, io.ErrUnexpectedEOF)
	}
	return err
}
