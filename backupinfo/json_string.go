package backupinfo

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeEscape reads the escape sequence that s begins with and returns its
// character and length; length 0 means that it is none. Half a surrogate pair
// is none: it stands for no character.
func decodeEscape(s string) (r rune, length int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return decodeUnicodeEscape(s)
	}
	return 0, 0
}

func decodeUnicodeEscape(s string) (rune, int) {
	first, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	second, ok := hex4(s[6:])
	if r := utf16.DecodeRune(first, second); ok && r != utf8.RuneError {
		return r, 12
	}
	return 0, 0
}

// hex4 reads \uXXXX.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for i := 2; i < 6; i++ {
		c := s[i]
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape decodes the inside of a string that the scanner has checked.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		plain, _, found := strings.Cut(s, `\`)
		b.WriteString(plain)
		if !found {
			return b.String()
		}
		r, n := decodeEscape(s[len(plain):])
		b.WriteRune(r)
		s = s[len(plain)+max(n, 1):]
	}
}

// appendString writes s as the original does: only what JSON demands is escaped,
// so "/", 0x7f and everything beyond ASCII stay as they are.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			start = i + 1
		}
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	dst = append(dst, `\u00`...)
	if c < 0x10 {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, uint64(c), 16)
}
