package command

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable makes text from disk or from other processes safe for a terminal:
// control characters, invalid UTF-8 and what changes the direction of writing
// are shown as escapes.
func printable(s string) string {
	if isPrintable(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if mayPrint(r, size) {
			b.WriteString(s[:size])
		} else {
			quoted := strconv.QuoteToASCII(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

func isPrintable(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			_, size := utf8.DecodeRuneInString(s[i:])
			if !mayPrint(r, size) {
				return false
			}
		}
	}
	return true
}

func mayPrint(r rune, size int) bool {
	return unicode.IsPrint(r) && (r != utf8.RuneError || size > 1)
}

// printableJSON escapes what JSON allows inside of strings and a terminal
// would obey: the C1 controls, DEL, and marks of direction.
func printableJSON(encoded []byte) []byte {
	if isPlainJSON(encoded) {
		return encoded
	}
	var b strings.Builder
	for _, r := range string(encoded) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteString(`\u`)
			const hex = "0123456789abcdef"
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(hex[r>>shift&15])
			}
		}
	}
	return []byte(b.String())
}

func isPlainJSON(encoded []byte) bool {
	for _, c := range encoded {
		if c >= 0x7f {
			return false
		}
	}
	return true
}

// oneLine shows an error on one line. Only line breaks between joined errors can
// be in it: names in messages are quoted.
func oneLine(text string) string {
	return printable(strings.ReplaceAll(text, "\n", "; "))
}
