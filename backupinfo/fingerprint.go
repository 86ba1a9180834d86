package backupinfo

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Fingerprint tells encryption keys apart without giving anything away.
type Fingerprint [32]byte

// ParseFingerprint reads 64 hex digits of either case; colons between them are
// ignored wherever they stand.
func ParseFingerprint(s string) (Fingerprint, error) {
	var f Fingerprint
	digits := strings.ReplaceAll(s, ":", "")
	if len(digits) != hex.EncodedLen(len(f)) {
		return Fingerprint{}, fmt.Errorf("key fingerprint %s: must have %d hex digits", quote(s), hex.EncodedLen(len(f)))
	}
	if _, err := hex.Decode(f[:], []byte(digits)); err != nil {
		return Fingerprint{}, fmt.Errorf("key fingerprint %s: %w", quote(s), err)
	}
	return f, nil
}

// String returns all bytes as lower-case hex with colons, the form that manifests
// and key files hold.
func (f Fingerprint) String() string { return colonHex(f[:]) }

// Short returns the first eight bytes, the form for people.
func (f Fingerprint) Short() string { return colonHex(f[:8]) }

func colonHex(b []byte) string {
	out := make([]byte, 0, 3*len(b))
	for i := range b {
		if i > 0 {
			out = append(out, ':')
		}
		out = hex.AppendEncode(out, b[i:i+1])
	}
	return string(out)
}
