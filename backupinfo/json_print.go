package backupinfo

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// member is one key of an object with the text of its value.
type member struct{ key, value string }

// members splits the text of an object that has been checked.
func members(object string) ([]member, error) {
	p := scanner{text: object}
	var list []member
	err := p.document(func() {
		p.object(func(key string) { list = append(list, member{key, p.value()}) })
	})
	return list, err
}

// elements splits the text of an array that has been checked.
func elements(array string) ([]string, error) {
	p := scanner{text: array}
	var list []string
	err := p.document(func() { p.array(func() { list = append(list, p.value()) }) })
	return list, err
}

// printer writes JSON text in another form: keys sorted by their bytes, strings
// escaped in the one way of the original. Pretty has two spaces a level and keeps
// numbers to the letter; canonical has no white space, one form for each
// number, and no null.
type printer struct {
	out    []byte
	pretty bool
	depth  int
}

// errLarge stops a printer early: indentation can make thirty times as much of a
// text as was read.
var errLarge = fmt.Errorf("the JSON would be larger than %d bytes", MaxManifestSize)

func (w *printer) value(text string) error {
	if len(w.out) > MaxManifestSize {
		return errLarge
	}
	switch text[0] {
	case '{':
		list, err := members(text)
		if err != nil {
			return err
		}
		return w.object(list)
	case '[':
		list, err := elements(text)
		if err != nil {
			return err
		}
		return w.array(list)
	}
	return w.scalar(text)
}

func (w *printer) object(list []member) error {
	slices.SortFunc(list, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	w.open('{')
	for i, m := range list {
		w.separate(i)
		w.out = append(appendString(w.out, m.key), ':')
		if w.pretty {
			w.out = append(w.out, ' ')
		}
		if err := w.value(m.value); err != nil {
			return fmt.Errorf("%s: %w", quote(m.key), err)
		}
	}
	w.close('}', len(list))
	return nil
}

func (w *printer) array(list []string) error {
	w.open('[')
	for i, text := range list {
		w.separate(i)
		if err := w.value(text); err != nil {
			return err
		}
	}
	w.close(']', len(list))
	return nil
}

func (w *printer) scalar(text string) (err error) {
	switch c := text[0]; {
	case c == '"':
		p := scanner{text: text}
		w.out = appendString(w.out, p.string())
		return p.err
	case w.pretty:
		w.out = append(w.out, text...)
	case c == 'n':
		return errors.New("null has no canonical form")
	case c == '-' || isDigit(c):
		w.out, err = appendCanonicalNumber(w.out, text)
	default:
		w.out = append(w.out, text...)
	}
	return err
}

func (w *printer) open(c byte) {
	w.out = append(w.out, c)
	w.depth++
}

func (w *printer) close(c byte, count int) {
	w.depth--
	if count > 0 {
		w.newline()
	}
	w.out = append(w.out, c)
}

// separate starts the element with the given number.
func (w *printer) separate(number int) {
	if number > 0 {
		w.out = append(w.out, ',')
	}
	w.newline()
}

func (w *printer) newline() {
	if !w.pretty {
		return
	}
	w.out = append(w.out, '\n')
	for range w.depth {
		w.out = append(w.out, "  "...)
	}
}

// appendCanonicalNumber writes integers of 64 bits to the letter, everything else
// as the shortest decimal that reads back as the same 64-bit float.
func appendCanonicalNumber(dst []byte, text string) ([]byte, error) {
	if isInteger(text) {
		return append(dst, text...), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return dst, fmt.Errorf("number %s is out of range", quote(text))
	}
	return appendFloat(dst, f), nil
}

// isInteger reports whether the original holds the number as an integer. It reads
// -0 as a float.
func isInteger(text string) bool {
	if strings.ContainsAny(text, ".eE") || text == "-0" {
		return false
	}
	_, signed := strconv.ParseInt(text, 10, 64)
	_, unsigned := strconv.ParseUint(text, 10, 64)
	return signed == nil || unsigned == nil
}

// appendFloat writes 100.0, 0.1, 1e16: always with a point or an exponent, and
// with an exponent where the point would be more than 16 places right or 5 left
// of the first digit.
func appendFloat(dst []byte, f float64) []byte {
	if f == 0 {
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	shortest := strconv.AppendFloat(nil, f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(string(shortest), "e")
	point, err := strconv.Atoi(exponent)
	if point++; err != nil || point <= -5 || point > 16 {
		return append(append(append(dst, mantissa...), 'e'), strconv.Itoa(point-1)...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !strings.Contains(string(dst[start:]), ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}
