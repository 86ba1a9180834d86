package keys

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// short is the form of a fingerprint for people: its first eight bytes.
func short(fingerprint [32]byte) string { return colonHex(fingerprint[:8]) }

// colonHex is the form of key files and manifests.
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

// parseFingerprint reads 64 hex digits of either case and ignores colons.
func parseFingerprint(s string) (f [32]byte, err error) {
	digits := strings.ReplaceAll(s, ":", "")
	if len(digits) != hex.EncodedLen(len(f)) {
		return f, fmt.Errorf("fingerprint has %d hex digits instead of %d", len(digits), hex.EncodedLen(len(f)))
	}
	if _, err := hex.Decode(f[:], []byte(digits)); err != nil {
		return [32]byte{}, fmt.Errorf("fingerprint: %w", err)
	}
	return f, nil
}
