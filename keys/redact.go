package keys

import (
	"fmt"
	"io"
)

// hide puts a secret out of reach for package fmt and its like. They follow
// pointers, even inside a struct whose printing does not ask for our Format, but
// can't look into a function.
func hide[T any](secret *T) func() *T { return func() *T { return secret } }

// String returns "key" and the short fingerprint.
func (k *Key) String() string {
	if k == nil {
		return "no key"
	}
	return "key " + short(k.fingerprint)
}

// GoString is String.
func (k *Key) GoString() string { return k.String() }

// Format writes String, whatever the verb.
func (k *Key) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, k.String()) }

// String says how the file is protected and which key it holds, as far as it
// tells.
func (f *File) String() string {
	if f == nil {
		return "no key file"
	}
	text := "key file (" + string(f.KDF()) + ")"
	if fingerprint, ok := f.Fingerprint(); ok {
		text += " with key " + short(fingerprint)
	}
	return text
}

// GoString is String.
func (f *File) GoString() string { return f.String() }

// Format writes String, whatever the verb.
func (f *File) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, f.String()) }
