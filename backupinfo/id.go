package backupinfo

import (
	"errors"
	"fmt"
)

// maxIDLength bounds a backup id or a namespace part. The format has no limit
// of its own for ids; the file systems below stop at 255 bytes, and the
// original accepts 256.
const maxIDLength = 256

// Store names have these lengths.
const (
	minStoreName = 3
	maxStoreName = 32
)

// isIDByte reports whether c may stand in an identifier, first or later.
func isIDByte(c byte, first bool) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_':
		return true
	case c == '.', c == '-':
		return !first
	}
	return false
}

// checkID is the one pattern behind ids, namespace parts, token names, realms
// and store names: [A-Za-z0-9_][A-Za-z0-9._-]*. It also keeps ".", ".." and
// everything with a slash away from the disk.
func checkID(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > maxIDLength:
		return fmt.Errorf("is longer than %d characters", maxIDLength)
	}
	for i := range len(s) {
		if !isIDByte(s[i], i == 0) {
			return fmt.Errorf("has %q at position %d; letters, digits and _ are allowed, and . and - after the first", s[i], i+1)
		}
	}
	return nil
}

// CheckStoreName reports what is wrong with the name of a datastore: 3 to 32
// characters of the pattern that ids have.
func CheckStoreName(name string) error {
	if len(name) < minStoreName || len(name) > maxStoreName {
		return fmt.Errorf("datastore name %s: must have %d to %d characters", quote(name), minStoreName, maxStoreName)
	}
	if err := checkID(name); err != nil {
		return fmt.Errorf("datastore name %s: %w", quote(name), err)
	}
	return nil
}
