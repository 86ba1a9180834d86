package unitname

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

const (
	// longest is the length of an escaped name from which on it is hashed: a file's
	// name has room for 255 bytes.
	longest = 255
	// kept is how much of both ends stays readable then.
	kept = 80
)

// Escape is systemd's escaping of a path: "/" is "-", letters, digits, "_" and "."
// stay (but for a "." in front), any other byte is "\xNN". Different names are
// different afterwards.
func Escape(name string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i, c := range []byte(name) {
		switch {
		case c == '/':
			b.WriteByte('-')
		case c == '.' && i == 0, !isPlain(c):
			b.Write([]byte{'\\', 'x', digits[c>>4], digits[c&15]})
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.'
}

// File is [Escape] for a file's name. What is too long for one is cut in the middle, and
// the SHA-256 of the name itself is added (a server's comment says that it is of the
// escaped one). An escaped name may look like that too, so who has both in one
// directory has to tell them apart by the second result.
func File(name string) (file string, hashed bool) {
	file = Escape(name)
	if len(file) < longest {
		return file, false
	}
	sum := sha256.Sum256([]byte(name))
	return file[:kept] + "..." + file[len(file)-kept:] + "-" + hex.EncodeToString(sum[:]), true
}

// Unescape undoes [Escape]; ok is false for what is no escaped name. It takes more than Escape gives: bytes that
// needed no escaping too.
func Unescape(escaped string) (name string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		switch c := escaped[i]; c {
		case '-':
			b.WriteByte('/')
		case '\\':
			if len(escaped) < i+4 || escaped[i+1] != 'x' {
				return "", false
			}
			n, err := strconv.ParseUint(escaped[i+2:i+4], 16, 8)
			if err != nil {
				return "", false
			}
			b.WriteByte(byte(n))
			i += 3
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}
