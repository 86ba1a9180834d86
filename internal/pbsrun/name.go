package pbsrun

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

const (
	// longestName is the length of an escaped name from which on it is hashed.
	longestName = 255
	// keptOfHashed is how much of both ends stays readable then.
	keptOfHashed = 80
	hashedDir    = "hashed"
	manifestLock = ".index.json.lck"
)

// LockName is the path of a lock file of server 3.3.5 and later, relative to the
// directory of the datastore's locks. namespace is "" or parts joined by "/", name
// is "type/id" or "type/id/time".
func LockName(namespace, name string) string {
	file := escape(name)
	if len(file) >= longestName {
		// Of the name itself: the original's comment says that it is of the escaped one.
		sum := sha256.Sum256([]byte(name))
		file = path.Join(hashedDir, file[:keptOfHashed]+"..."+file[len(file)-keptOfHashed:]+"-"+hex.EncodeToString(sum[:]))
	}
	return path.Join(strings.ReplaceAll(namespace, "/", ":"), file)
}

// ManifestLockName is [LockName] for the manifest of the snapshot "type/id/time".
func ManifestLockName(namespace, snapshot string) string {
	return LockName(namespace, snapshot+"/"+manifestLock)
}

// OldManifestLockName is the path of the manifest's lock file of servers before
// 3.3.5, relative to the same directory. dir is the snapshot's directory relative
// to the datastore, such as "ns/a/vm/100/2026-01-15T03:00:00Z".
func OldManifestLockName(dir string) string {
	return path.Join(dir, path.Base(dir)+manifestLock)
}

// escape is systemd's escaping of a path as the name of a unit.
func escape(name string) string {
	const hexDigits = "0123456789abcdef"
	var b strings.Builder
	for i, c := range []byte(name) {
		switch {
		case c == '/':
			b.WriteByte('-')
		case c == '.' && i == 0, !isPlain(c):
			b.Write([]byte{'\\', 'x', hexDigits[c>>4], hexDigits[c&15]})
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.'
}
