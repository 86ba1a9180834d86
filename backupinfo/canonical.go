package backupinfo

import "fmt"

// CanonicalJSON rewrites JSON text into the one form over which signatures are
// made: keys sorted by their bytes, no white space, integers to the letter,
// floats in their shortest form with a point, and in strings only the quote, the
// backslash and control characters escaped. A null anywhere, a duplicate key, and
// a nesting deeper than 32 are errors.
func CanonicalJSON(text []byte) ([]byte, error) {
	value, err := checkedJSON(string(text))
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	var w printer
	if err := w.value(value); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return w.out, nil
}

// checkedJSON returns the one value of the text without the white space around it.
func checkedJSON(text string) (value string, err error) {
	p := scanner{text: text}
	err = p.document(func() { value = p.value() })
	return value, err
}
