package backupinfo

import "fmt"

// CanonicalJSON rewrites JSON text into the one form over which signatures are
// made: keys sorted by their bytes, no white space, integers to the letter,
// floats in their shortest form with a point, and in strings only the quote, the
// backslash and control characters escaped. A null anywhere, a duplicate key, and
// a nesting deeper than 32 are errors.
func CanonicalJSON(text []byte) ([]byte, error) {
	var w printer
	if err := w.text(string(text)); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return w.out, nil
}
