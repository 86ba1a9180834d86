package storelock

import (
	"strconv"
	"strings"

	"github.com/pbs-like/pbs-like/internal/unitname"
)

// ResourceDir names the directory of the lock of one of many resources: what a
// Proxmox Backup Server makes of names of locks, systemd's escaping of a path. "/"
// is "-", letters, digits, "_" and "." stay (but for a "." in front), any other byte is
// "\xNN". From 255 bytes on it is the first and the last 80 of them and the
// SHA-256 of the resource's name, after a "+", which no other name has. So
// different resources never have the same directory.
func ResourceDir(resource string) string {
	if resource == "" {
		return `\x` // is no escaped name, and no name of a directory is empty
	}
	name, hashed := unitname.File(resource)
	if hashed {
		return "+" + name
	}
	return name
}

// Resource is the opposite of ResourceDir. It says false of what is no such name, and of a
// hash, which tells nothing.
func Resource(dir string) (resource string, ok bool) {
	var b strings.Builder
	for rest := dir; rest != ""; {
		switch c := rest[0]; {
		case c == '-':
			b.WriteByte('/')
			rest = rest[1:]
		case c == '\\' && len(rest) >= len(`\x2d`) && rest[1] == 'x':
			n, err := strconv.ParseUint(rest[2:4], 16, 8)
			if err != nil {
				return "", false
			}
			b.WriteByte(byte(n))
			rest = rest[4:]
		default:
			b.WriteByte(c)
			rest = rest[1:]
		}
	}
	return b.String(), ResourceDir(b.String()) == dir && !strings.HasPrefix(dir, "+")
}
