package backupinfo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/digest"
)

// Signature returns the text of the signature, and false when the manifest has
// none. The text is whatever was read: compare it as a whole with the expected
// one.
func (m *Manifest) Signature() (string, bool) { return jsonString(m.signature) }

// SetSignature sets the signature, an HMAC over [Manifest.SigningBytes].
func (m *Manifest) SetSignature(mac [32]byte) {
	m.signature, m.resigned = `"`+digest.Digest(mac).String()+`"`, true
}

// SigningBytes returns what a signature covers: the canonical JSON of everything
// but the signature itself and the unprotected part. Unknown fields are covered
// as they are in the original's version 3; its version 4 leaves them out. It fails
// when there is a null in this part.
func (m *Manifest) SigningBytes() ([]byte, error) {
	list, err := m.members()
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(item member) bool {
		return item.key == "signature" || item.key == "unprotected"
	})
	var w printer
	if err := w.members(list); err != nil {
		return nil, fmt.Errorf("manifest has no form to sign: %w", err)
	}
	return w.out, nil
}

// Marshal returns the JSON in the form that the original writes, sorted and
// indented, with every key and number that was read. The result is at most
// [MaxManifestSize] long and is what [ParseManifest] reads.
func (m *Manifest) Marshal() ([]byte, error) { return m.marshal(MaxManifestSize) }

func (m *Manifest) marshal(limit int) ([]byte, error) {
	list, err := m.members()
	if err != nil {
		return nil, err
	}
	w := printer{pretty: true, limit: limit, out: make([]byte, 0, len(m.text)+256)}
	if err := w.members(list); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if len(w.out) > limit {
		return nil, fmt.Errorf("manifest: %w: %d bytes are allowed", errLarge, limit)
	}
	return w.out, nil
}

// members lists the top level with the changes made since it was read.
func (m *Manifest) members() ([]member, error) {
	list, err := members(m.text)
	if err != nil {
		return nil, err
	}
	set := func(key, value string) {
		list = slices.DeleteFunc(list, func(item member) bool { return item.key == key })
		list = append(list, member{key, value})
	}
	if len(m.files) != m.read {
		set("files", m.filesText())
	}
	if m.resigned {
		set("signature", m.signature)
	}
	if m.unprotected.changed {
		set("unprotected", m.unprotected.raw)
	}
	return list, nil
}

// filesText returns the array as it was read, with the added entries behind.
func (m *Manifest) filesText() string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(m.filesRaw, "]"))
	for i, f := range m.files[m.read:] {
		if m.read+i > 0 {
			b.WriteByte(',')
		}
		// Names and modes that AddFile accepts need no escaping.
		fmt.Fprintf(&b, `{"crypt-mode":"%s","csum":"%s","filename":"%s","size":%d}`, f.CryptMode, f.Checksum, f.Name, f.Size)
	}
	b.WriteByte(']')
	return b.String()
}
