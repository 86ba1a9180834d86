package backupinfo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth bounds nesting, and with it the stack and the time of a rewrite.
// A manifest has four levels.
const maxJSONDepth = 32

// scanner walks JSON text once, checking all of it, without building values: a
// listing reads a hundred thousand manifests and wants five fields of each.
// encoding/json would round numbers, let duplicate keys pass, replace invalid
// text, and take several times as long.
//
// The first error sticks in err; every method then does nothing, so callers look
// at it once at the end.
type scanner struct {
	text  string
	pos   int
	depth int
	keys  []string // keys of the objects that are open, to find duplicates
	err   error
}

func (p *scanner) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("at byte %d: %w", p.pos, fmt.Errorf(format, args...))
	}
}

// document checks that f consumes the whole text but for white space.
func (p *scanner) document(f func()) error {
	f()
	if p.skipSpace(); p.err == nil && p.pos != len(p.text) {
		p.fail("data after the end of the JSON value")
	}
	return p.err
}

// peek skips white space and returns the next byte, 0 at the end or after an error.
func (p *scanner) peek() byte {
	if p.skipSpace(); p.err != nil || p.pos >= len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *scanner) skipSpace() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\n', '\t', '\r':
			p.pos++
		default:
			return
		}
	}
}

// take consumes the byte c, after white space.
func (p *scanner) take(c byte) bool {
	if got := p.peek(); got != c {
		if p.pos >= len(p.text) {
			p.fail("the text ends where %q must be", c)
		} else {
			p.fail("%q where %q must be", got, c)
		}
		return false
	}
	p.pos++
	return true
}

func (p *scanner) enter(c byte) bool {
	if p.depth == maxJSONDepth {
		p.fail("nested deeper than %d", maxJSONDepth)
	}
	if !p.take(c) {
		return false
	}
	p.depth++
	return true
}

// more moves to the next element, and reports false at the closing byte.
func (p *scanner) more(first bool, closing byte) bool {
	if p.peek() == closing {
		p.pos++
		p.depth--
		return false
	}
	return first && p.err == nil || p.take(',')
}

// object walks an object; member must consume the value.
func (p *scanner) object(member func(key string)) {
	if !p.enter('{') {
		return
	}
	open := len(p.keys)
	for first := true; p.more(first, '}'); first = false {
		key := p.string()
		if p.keys = append(p.keys, key); p.take(':') {
			member(key)
		}
	}
	p.checkKeys(p.keys[open:])
	p.keys = p.keys[:open]
}

// array walks an array; element must consume the value.
func (p *scanner) array(element func()) {
	if !p.enter('[') {
		return
	}
	for first := true; p.more(first, ']'); first = false {
		element()
	}
}

// checkKeys refuses duplicate keys: readers differ in which one counts, so what
// one of them verifies would not be what another one uses.
func (p *scanner) checkKeys(keys []string) {
	if len(keys) > 16 {
		slices.Sort(keys)
		for i := range len(keys) - 1 {
			if keys[i] == keys[i+1] {
				p.fail("duplicate key %s", quote(keys[i]))
			}
		}
		return
	}
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			p.fail("duplicate key %s", quote(key))
		}
	}
}

// value walks over any value and returns its text.
func (p *scanner) value() string {
	c := p.peek()
	start := p.pos
	switch {
	case c == '{':
		p.object(func(string) { p.value() })
	case c == '[':
		p.array(func() { p.value() })
	case c == '"':
		p.stringToken()
	case c == '-' || isDigit(c):
		p.number()
	case p.literal("null") || p.literal("true") || p.literal("false"):
	case p.pos >= len(p.text):
		p.fail("the text ends where a value must be")
	default:
		p.fail("%q where a value must be", c)
	}
	if p.err != nil {
		return ""
	}
	return p.text[start:p.pos]
}

func (p *scanner) literal(word string) bool {
	if p.err != nil || !strings.HasPrefix(p.text[p.pos:], word) {
		return false
	}
	p.pos += len(word)
	return true
}

// null consumes a null, if one is next.
func (p *scanner) null() bool {
	return p.peek() == 'n' && p.literal("null")
}

// number consumes a number and returns its text.
func (p *scanner) number() string {
	p.peek()
	start := p.pos
	if p.pos < len(p.text) && p.text[p.pos] == '-' {
		p.pos++
	}
	leading := p.pos
	if digits := p.digits(); digits > 1 && p.text[leading] == '0' {
		p.fail("a number with leading zeros")
	}
	if p.pos < len(p.text) && p.text[p.pos] == '.' {
		p.pos++
		p.digits()
	}
	if p.pos < len(p.text) && p.text[p.pos]|0x20 == 'e' {
		p.pos++
		if p.pos < len(p.text) && (p.text[p.pos] == '+' || p.text[p.pos] == '-') {
			p.pos++
		}
		p.digits()
	}
	if p.err != nil {
		return ""
	}
	return p.text[start:p.pos]
}

// digits consumes at least one digit.
func (p *scanner) digits() int {
	start := p.pos
	for p.pos < len(p.text) && isDigit(p.text[p.pos]) {
		p.pos++
	}
	if p.pos == start {
		p.fail("a digit must be here")
	}
	return p.pos - start
}

// integer consumes a number written as a plain integer.
func (p *scanner) integer() int64 {
	text := p.number()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail("%s is not an integer of 64 bits", quote(text))
	}
	return n
}

// unsigned consumes a number written as a plain unsigned integer.
func (p *scanner) unsigned() uint64 {
	text := p.number()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		p.fail("%s is not an unsigned integer of 64 bits", quote(text))
	}
	return n
}

// string consumes a string and returns what it means; a substring of the text
// when nothing in it is escaped.
func (p *scanner) string() string {
	token, escaped := p.stringToken()
	if p.err != nil {
		return ""
	}
	if inner := token[1 : len(token)-1]; !escaped {
		return inner
	} else {
		return unescape(inner)
	}
}

// stringToken consumes a string and returns its text with the quotes.
func (p *scanner) stringToken() (token string, escaped bool) {
	if !p.take('"') {
		return "", false
	}
	start, wide := p.pos-1, false
	for p.err == nil && p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			token = p.text[start:p.pos]
			if wide && !utf8.ValidString(token) {
				p.fail("a string that is not UTF-8")
			}
			return token, escaped
		case c == '\\':
			escaped = true
			p.escape()
			continue
		case c < ' ':
			p.fail("a bare control character %q in a string", c)
		case c >= utf8.RuneSelf:
			wide = true
		}
		p.pos++
	}
	p.fail("a string without an end")
	return "", false
}

// escape consumes one escape sequence, or two that make one character.
func (p *scanner) escape() {
	rest := p.text[p.pos:]
	if _, n := decodeEscape(rest); n > 0 {
		p.pos += n
		return
	}
	p.fail("a bad escape %s in a string", quote(rest[:min(len(rest), 12)]))
}
