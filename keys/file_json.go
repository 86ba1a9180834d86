package keys

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// MaxFileSize bounds the JSON of a key file, in bytes.
const MaxFileSize = 64 << 10

const timeLayout = "2006-01-02T15:04:05-07:00"

// ParseFile reads the JSON of a key file. It derives nothing and so is fast, but a
// file that would take too much to unlock is refused. Unknown members are ignored.
// Errors unwrap to ErrFile and show nothing of the secret.
func ParseFile(text []byte) (*File, error) {
	f, err := parseFile(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return f, nil
}

func parseFile(text []byte) (*File, error) {
	if len(text) > MaxFileSize {
		return nil, fmt.Errorf("%d bytes, %d are allowed", len(text), MaxFileSize)
	}
	r := newReader(text)
	f := &File{s: hide(&sealed{r.derivation(), r.base64("data")}), created: r.time("created"), modified: r.time("modified")}
	if f.hasFingerprint = r.has("fingerprint"); f.hasFingerprint {
		f.fingerprint = r.fingerprint("fingerprint")
	}
	if r.has("hint") {
		f.hint = r.text("hint")
	}
	if *r.err != nil {
		return nil, *r.err
	}
	return f, f.s().check()
}

// check looks at what the parts of a file say together.
func (s *sealed) check() error {
	want := sealedSize
	if s.kdf == None {
		want = Size
	}
	if len(s.data) != want {
		return fmt.Errorf("data has %d bytes instead of %d", len(s.data), want)
	}
	return s.derivation.check()
}

// derivation reads the member "kdf": null, or an object whose only member names
// the KDF.
func (r *reader) derivation() derivation {
	if !r.has("kdf") {
		return derivation{kdf: None}
	}
	kdf := r.object("kdf")
	switch one := len(kdf.members) == 1; {
	case one && kdf.has("Scrypt"):
		p := kdf.object("Scrypt")
		return derivation{kdf: Scrypt, n: p.uint("n"), r: p.uint("r"), p: p.uint("p"), salt: p.base64("salt")}
	case one && kdf.has("PBKDF2"):
		p := kdf.object("PBKDF2")
		return derivation{kdf: PBKDF2, iterations: p.uint("iter"), salt: p.base64("salt")}
	}
	r.fail("kdf is neither null nor one of Scrypt and PBKDF2")
	return derivation{}
}

// Marshal returns the JSON of the file, on one line without an end, as the
// original writes it. [ParseFile] reads it.
func (f *File) Marshal() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kdf":%s,"created":"%s","modified":"%s","data":"%s"`, f.s().json(),
		f.created.Format(timeLayout), f.modified.Format(timeLayout), base64.StdEncoding.EncodeToString(f.s().data))
	if f.hasFingerprint {
		fmt.Fprintf(&b, `,"fingerprint":"%s"`, colonHex(f.fingerprint[:]))
	}
	if f.hint != "" {
		b.WriteString(`,"hint":`)
		if err := writeString(&b, f.hint); err != nil {
			return nil, fmt.Errorf("hint: %w", err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// writeString is json.Marshal without its care for HTML, which the original does
// not take.
func writeString(b *bytes.Buffer, text string) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return err
	}
	b.Truncate(b.Len() - len("\n"))
	return nil
}

func (d derivation) json() string {
	salt := base64.StdEncoding.EncodeToString(d.salt)
	switch d.kdf {
	case Scrypt:
		return fmt.Sprintf(`{"Scrypt":{"n":%d,"r":%d,"p":%d,"salt":"%s"}}`, d.n, d.r, d.p, salt)
	case PBKDF2:
		return fmt.Sprintf(`{"PBKDF2":{"iter":%d,"salt":"%s"}}`, d.iterations, salt)
	case None:
	}
	return "null"
}
