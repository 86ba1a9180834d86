package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Size is the length of a Digest in bytes.
const Size = sha256.Size

// HexLen is the length of a Digest's text form.
const HexLen = 2 * Size

// Digest names a chunk. The zero value names none: no data is known to have it.
type Digest [Size]byte

// Of returns the digest of unencrypted data: its SHA-256.
func Of(data []byte) Digest { return sha256.Sum256(data) }

// Parse reads the text form: exactly 64 lower-case hexadecimal digits, as in the
// name of a chunk's file. The error quotes what is not one.
func Parse(text string) (Digest, error) {
	var d Digest
	if len(text) != HexLen {
		return Digest{}, fmt.Errorf("digest %s: %d characters instead of %d", quote(text), len(text), HexLen)
	}
	for i := range d {
		high, low := nibble(text[2*i]), nibble(text[2*i+1])
		if high > 15 || low > 15 {
			return Digest{}, fmt.Errorf("digest %s: not all lower-case hexadecimal digits", quote(text))
		}
		d[i] = high<<4 | low
	}
	return d, nil
}

// String returns the text form.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// AppendHex appends the text form to dst and returns the longer slice: for paths
// that are built without garbage.
func (d Digest) AppendHex(dst []byte) []byte { return hex.AppendEncode(dst, d[:]) }

// IsZero reports whether d is the zero value.
func (d Digest) IsZero() bool { return d == Digest{} }

// Compare orders digests bytewise, which is also the order of their text forms.
func (d Digest) Compare(other Digest) int { return bytes.Compare(d[:], other[:]) }

// nibble returns the value of a lower-case hexadecimal digit, or more than 15.
// The standard decoder also takes upper case, which no chunk's file has.
func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

// quote keeps the message short whatever the input.
func quote(text string) string {
	const most = 2 * HexLen
	if len(text) > most {
		return fmt.Sprintf("%.*q…", most, text[:most])
	}
	return fmt.Sprintf("%q", text)
}
