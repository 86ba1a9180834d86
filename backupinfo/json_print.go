package backupinfo

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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

// printer writes JSON text in another form: keys sorted by their bytes, strings
// escaped in the one way of the original. Pretty has two spaces a level and keeps
// numbers to the letter; canonical has no white space, one form for each
// number, and no null. It goes through the text once, whatever the nesting.
type printer struct {
	out    []byte
	pretty bool
	limit  int // where to stop; 0 is MaxManifestSize
	depth  int
}

// errLarge stops a printer early: indentation can make thirty times as much of a
// text as was read.
var errLarge = errors.New("the JSON would be too large")

// text prints the one value that the text has.
func (w *printer) text(text string) error {
	p := scanner{text: text}
	return p.document(func() { w.value(&p) })
}

// members prints an object that was taken apart.
func (w *printer) members(list []member) error {
	slices.SortFunc(list, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	w.open('{')
	for i, m := range list {
		w.separate(i)
		w.key(m.key)
		if err := w.text(m.value); err != nil {
			return fmt.Errorf("%s: %w", quote(m.key), err)
		}
	}
	w.close('}', len(list))
	return nil
}

func (w *printer) value(p *scanner) {
	if len(w.out) > cmp.Or(w.limit, MaxManifestSize) {
		p.fail("%w", errLarge)
	}
	switch c := p.peek(); {
	case c == '{':
		w.object(p)
	case c == '[':
		w.array(p)
	case c == '"':
		w.out = appendString(w.out, p.string())
	case !w.pretty && (c == '-' || isDigit(c)):
		w.canonicalNumber(p)
	case !w.pretty && c == 'n':
		p.fail("null has no canonical form")
	default:
		w.out = append(w.out, p.value()...)
	}
}

func (w *printer) array(p *scanner) {
	w.open('[')
	count := 0
	p.array(func() {
		w.separate(count)
		w.value(p)
		count++
	})
	w.close(']', count)
}

// printed is where the output has a member of an object.
type printed struct {
	key      string
	from, to int
}

func (w *printer) object(p *scanner) {
	w.open('{')
	start := len(w.out)
	var list []printed
	p.object(func(key string) {
		w.separate(len(list))
		from := len(w.out)
		w.key(key)
		w.value(p)
		list = append(list, printed{key, from, len(w.out)})
	})
	w.sort(start, list)
	w.close('}', len(list))
}

// sort puts the members of an object in order that were printed in another one.
// The original's own text is in order already.
func (w *printer) sort(start int, list []printed) {
	byKey := func(a, b printed) int { return cmp.Compare(a.key, b.key) }
	if slices.IsSortedFunc(list, byKey) {
		return
	}
	slices.SortFunc(list, byKey)
	old := slices.Clone(w.out[start:])
	w.out = w.out[:start]
	for i, m := range list {
		w.separate(i)
		w.out = append(w.out, old[m.from-start:m.to-start]...)
	}
}

func (w *printer) canonicalNumber(p *scanner) {
	text := p.number()
	out, err := appendCanonicalNumber(w.out, text)
	if err != nil {
		p.fail("%w", err)
	}
	w.out = out
}

func (w *printer) key(key string) {
	w.out = append(appendString(w.out, key), ':')
	if w.pretty {
		w.out = append(w.out, ' ')
	}
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
	w.out = append(w.out, indentation[:min(2*w.depth, len(indentation))]...)
}

// indentation is as long as the deepest nesting needs.
const indentation = "                                                                    "
