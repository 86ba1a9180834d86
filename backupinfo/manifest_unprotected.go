package backupinfo

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// The keys of the unprotected part that this package knows.
const (
	keyNotes       = "notes"
	keyVerifyState = "verify_state"
	keyFingerprint = "key-fingerprint"
)

// unprotected is the part of a manifest that the signature does not cover and
// that may change after the backup. All fields are the text of JSON values, ""
// when absent.
type unprotected struct {
	raw         string // the whole object, or null
	changed     bool   // raw is not what was read
	notes       string
	verifyState string
	fingerprint string
}

func (u *unprotected) parse(p *scanner) {
	p.peek()
	start := p.pos
	if !p.null() {
		p.object(func(key string) {
			value := p.value()
			switch key {
			case keyNotes:
				u.notes = value
			case keyVerifyState:
				u.verifyState = value
			case keyFingerprint:
				u.fingerprint = value
			}
		})
	}
	if p.err == nil {
		u.raw = p.text[start:p.pos]
	}
}

// jsonString decodes the text of a JSON value that must be a string.
func jsonString(value string) (string, bool) {
	p := scanner{text: value}
	s := p.string()
	return s, value != "" && p.err == nil
}

// Notes returns the free text for people, "" when there is none.
func (m *Manifest) Notes() string {
	notes, _ := jsonString(m.unprotected.notes)
	return notes
}

// SetNotes replaces the notes; "" removes them. It fails for text that is not
// UTF-8.
func (m *Manifest) SetNotes(text string) error {
	if text == "" {
		return m.SetUnprotected(keyNotes, nil)
	}
	return m.SetUnprotected(keyNotes, text)
}

// VerifyResult is the outcome of a verification.
type VerifyResult string

// The outcomes that the format knows.
const (
	VerifyOK     VerifyResult = "ok"
	VerifyFailed VerifyResult = "failed"
)

// VerifyState is the last verification of a snapshot.
type VerifyState struct {
	State VerifyResult
	UPID  UPID // the task that verified; its Start is when
}

// VerifyState returns the last verification, nil when there was none. What does
// not read as a verification counts as none, so that it is done again.
func (m *Manifest) VerifyState() *VerifyState {
	if m.unprotected.verifyState == "" {
		return nil
	}
	var v VerifyState
	var errUPID error
	p := scanner{text: m.unprotected.verifyState}
	p.object(func(key string) {
		switch key {
		case "state":
			v.State = VerifyResult(p.string())
		case "upid":
			v.UPID, errUPID = ParseUPID(p.string())
		default:
			p.value()
		}
	})
	if p.err != nil || errUPID != nil || v.UPID == (UPID{}) || v.check() != nil {
		return nil
	}
	return &v
}

func (v VerifyState) check() error {
	if v.State != VerifyOK && v.State != VerifyFailed {
		return fmt.Errorf("verify state %s: must be ok or failed", quote(string(v.State)))
	}
	return nil
}

// SetVerifyState replaces the last verification. It fails when the state or the
// UPID is not valid.
func (m *Manifest) SetVerifyState(v VerifyState) error {
	if err := errors.Join(v.check(), v.UPID.Validate()); err != nil {
		return err
	}
	return m.SetUnprotected(keyVerifyState, map[string]string{"state": string(v.State), "upid": v.UPID.String()})
}

// Fingerprint returns the fingerprint of the key that encrypted or signed, nil when
// there is none. Text that is no fingerprint is an error: it matches no key.
func (m *Manifest) Fingerprint() (*Fingerprint, error) {
	value := m.unprotected.fingerprint
	if value == "" || value == "null" {
		return nil, nil
	}
	text, ok := jsonString(value)
	if !ok {
		return nil, fmt.Errorf("key fingerprint %s: must be a string", quote(value))
	}
	f, err := ParseFingerprint(text)
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// SetFingerprint replaces the fingerprint.
func (m *Manifest) SetFingerprint(f Fingerprint) error {
	return m.SetUnprotected(keyFingerprint, f.String())
}

// Unprotected returns the JSON of one value of the unprotected part, in a slice of
// the caller's own, nil when it is absent.
func (m *Manifest) Unprotected(key string) json.RawMessage {
	list, err := m.unprotected.members()
	if err != nil {
		return nil
	}
	for _, item := range list {
		if item.key == key {
			return json.RawMessage(item.value)
		}
	}
	return nil
}

// SetUnprotected replaces one value of the unprotected part with the JSON of v; a
// nil v removes the key. The signature stays good. It fails, and changes nothing,
// when v has no JSON or the text is not UTF-8.
func (m *Manifest) SetUnprotected(key string, v any) error {
	text, err := encodeValue(key, v)
	if err != nil {
		return err
	}
	list, err := m.unprotected.members()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(item member) bool { return item.key == key })
	if text != "" {
		list = append(list, member{key, text})
	}
	return m.unprotected.replace(list)
}

// encodeValue returns "" for nil.
func encodeValue(key string, v any) (string, error) {
	if v == nil {
		return "", nil
	}
	if s, ok := v.(string); !utf8.ValidString(key) || ok && !utf8.ValidString(s) {
		return "", fmt.Errorf("%s: the text is not UTF-8", quote(key))
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("%s: %w", quote(key), err)
	}
	return string(text), nil
}

// members splits the object; there are none when it is absent or null.
func (u *unprotected) members() ([]member, error) {
	if u.raw == "" || u.raw == "null" {
		return nil, nil
	}
	return members(u.raw)
}

// replace makes the list the new object. It is read back, so that what cannot be
// read is never written.
func (u *unprotected) replace(list []member) error {
	w := printer{pretty: true}
	if err := w.members(list); err != nil {
		return err
	}
	p := scanner{text: string(w.out), depth: 1}
	next := unprotected{changed: true}
	if err := p.document(func() { next.parse(&p) }); err != nil {
		return err
	}
	*u = next
	return nil
}
