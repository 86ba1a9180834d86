package storelock

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	longestName  = 255
	keptOfHashed = 80
)

// ResourceDir names the directory of the lock of one of many resources: what a
// Proxmox Backup Server makes of names of locks, systemd's escaping of a path. "/"
// is "-", letters, digits, "_" and "." stay (but for a "." in front), any other byte is
// "\xNN". From 255 bytes on it is the first and the last 80 of them and the
// SHA-256 of the resource's name, after a "+", which no other name has. So
// different resources never have the same directory.
func ResourceDir(resource string) string {
	name := escape(resource)
	if len(name) < longestName {
		return name
	}
	sum := sha256.Sum256([]byte(resource))
	return "+" + name[:keptOfHashed] + "..." + name[len(name)-keptOfHashed:] + "-" + hex.EncodeToString(sum[:])
}

func escape(name string) string {
	const digits = "0123456789abcdef"
	if name == "" {
		return `\x` // is no escaped name, and no name of a directory is empty
	}
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
