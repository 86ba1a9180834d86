package keys

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// reader takes values out of a JSON object and keeps the first error.
//
// The standard decoder ignores the case of names and takes the last of two equal
// ones, so that two programs could see two different keys in one file. Its errors
// repeat the input, which may be a secret. Hence this one.
type reader struct {
	members map[string]json.RawMessage
	err     *error
}

func newReader(text []byte) *reader {
	var err error
	r := &reader{err: &err}
	if !utf8.Valid(text) {
		r.fail("not UTF-8")
		return r
	}
	r.read(text)
	return r
}

func (r *reader) fail(format string, args ...any) {
	if *r.err == nil {
		*r.err = fmt.Errorf(format, args...)
	}
}

// read takes the members of the one object that text is.
func (r *reader) read(text []byte) {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		r.fail("not a JSON object")
		return
	}
	r.members = map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		name, _ := token.(string)
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			r.fail("not JSON")
			return
		}
		if _, twice := r.members[name]; twice {
			r.fail("member %.32q is there twice", name)
		}
		r.members[name] = value
	}
	if _, err := d.Token(); err != nil {
		r.fail("not JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		r.fail("there is more after the end of the JSON")
	}
}

// has reports whether there is such a member, and not null.
func (r *reader) has(name string) bool {
	value, ok := r.members[name]
	return ok && string(value) != "null"
}

func (r *reader) object(name string) *reader {
	o := &reader{err: r.err}
	o.read(r.members[name])
	return o
}

func (r *reader) text(name string) (text string) {
	if !r.has(name) {
		r.fail("%s is missing", name)
	} else if json.Unmarshal(r.members[name], &text) != nil {
		r.fail("%s is not a string", name)
	}
	return text
}

func (r *reader) uint(name string) uint64 {
	n, err := strconv.ParseUint(string(r.members[name]), 10, 64)
	if err != nil {
		r.fail("%s is missing or not a whole number", name)
	}
	return n
}

// base64 is as strict as the original.
func (r *reader) base64(name string) []byte {
	text := r.text(name)
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		r.fail("%s is not Base64", name)
	}
	return b
}

func (r *reader) time(name string) time.Time {
	// time.Parse accepts fractions and single digits where the layout has neither.
	const utc, offset = len("2006-01-02T15:04:05Z"), len(timeLayout)
	text := r.text(name)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || len(text) != utc && len(text) != offset || t.Nanosecond() != 0 {
		r.fail("%s is not a time like 2006-01-02T15:04:05+01:00", name)
	}
	return t
}

func (r *reader) fingerprint(name string) [32]byte {
	f, err := parseFingerprint(r.text(name))
	if err != nil {
		r.fail("%w", err)
	}
	return f
}
