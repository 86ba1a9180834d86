package backupinfo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pbs-like/pbs-like/digest"
)

// ErrManifest is behind every error of [ParseManifest] and [Manifest.Check]: the
// manifest is damaged, hostile or misplaced, and its snapshot is to be shown as
// broken.
var ErrManifest = errors.New("bad manifest")

// manyFiles is from where on a map finds duplicate names faster than a search.
const manyFiles = 32

// ParseManifest reads the JSON of a manifest, the decoded content of
// index.json.blob. It copies what it keeps.
//
// All of the text is checked: that it is JSON of at most [MaxManifestSize] bytes,
// nested at most 32 deep, without duplicate keys; that the fields of the format
// are there, of their types; that no two files have the same name, and each name
// is one that [ParseFileName] accepts. Unknown keys are kept. The signature is
// not checked.
func ParseManifest(json []byte) (*Manifest, error) {
	if len(json) > MaxManifestSize {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrManifest, MaxManifestSize)
	}
	m := &Manifest{text: string(json)}
	if err := m.parse(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return m, nil
}

func (m *Manifest) parse() error {
	var buffer [16]string
	p := scanner{text: m.text, keys: buffer[:0]}
	var seenTime, seenFiles bool
	p.object(func(key string) {
		switch key {
		case "backup-type":
			m.group.Type = Type(p.string())
		case "backup-id":
			m.group.ID = p.string()
		case "backup-time":
			m.time, seenTime = Time(p.integer()), true
		case "files":
			m.parseFiles(&p)
			seenFiles = true
		case "signature":
			m.signature = p.signature()
		case "unprotected":
			m.unprotected.parse(&p)
		default:
			p.value()
		}
	})
	if err := p.document(func() {}); err != nil {
		return err
	}
	return m.checkHead(seenTime, seenFiles)
}

func (m *Manifest) checkHead(seenTime, seenFiles bool) error {
	if !seenTime {
		return errors.New("backup-time is missing")
	}
	if !seenFiles {
		return errors.New("files is missing")
	}
	if err := m.group.Validate(); err != nil {
		return err
	}
	if !m.time.Valid() {
		return fmt.Errorf("backup time %d: outside the years 0000 to 9999", m.time)
	}
	return nil
}

// signature consumes a string or a null.
func (p *scanner) signature() string {
	if p.null() {
		return "null"
	}
	token, _ := p.stringToken()
	return token
}

func (m *Manifest) parseFiles(p *scanner) {
	p.peek()
	start := p.pos
	p.array(func() {
		if f := p.file(); p.err == nil {
			if m.files == nil {
				m.files = make([]File, 0, 4)
			}
			m.files = append(m.files, f)
		}
	})
	if p.err == nil {
		m.filesRaw, m.read = m.text[start:p.pos], len(m.files)
		m.checkDuplicateFiles(p)
	}
}

// file reads an entry. An error names the entry by what is known of it.
func (p *scanner) file() File {
	var f File
	var seenSize, seenChecksum bool
	p.object(func(key string) {
		switch key {
		case "filename":
			f.Name = p.string()
		case "crypt-mode":
			f.CryptMode = p.cryptMode()
		case "size":
			f.Size, seenSize = p.unsigned(), true
		case "csum":
			f.Checksum, seenChecksum = p.checksum(), true
		default:
			p.value()
		}
	})
	if f.CryptMode == "" {
		f.CryptMode = CryptNone
	}
	p.checkFile(f, seenSize, seenChecksum)
	return f
}

func (p *scanner) checkFile(f File, seenSize, seenChecksum bool) {
	if p.err != nil {
		return
	}
	_, err := ParseFileName(f.Name)
	switch {
	case err != nil:
		p.fail("%w", err)
	case f.Name == ManifestName:
		p.fail("file name %s: is the manifest's own", quote(f.Name))
	case !seenSize:
		p.fail("file %s: size is missing", quote(f.Name))
	case !seenChecksum:
		p.fail("file %s: csum is missing", quote(f.Name))
	}
}

func (p *scanner) cryptMode() CryptMode {
	text := p.string()
	if p.err != nil {
		return ""
	}
	mode, err := ParseCryptMode(text)
	if err != nil {
		p.fail("%w", err)
	}
	return mode
}

// checksum reads hex digits of either case, as the original does.
func (p *scanner) checksum() digest.Digest {
	text := p.string()
	if p.err != nil {
		return digest.Digest{}
	}
	d, err := digest.Parse(strings.ToLower(text))
	if err != nil {
		p.fail("%w", err)
	}
	return d
}

func (m *Manifest) checkDuplicateFiles(p *scanner) {
	if len(m.files) <= manyFiles {
		for i, f := range m.files {
			for _, other := range m.files[:i] {
				if f.Name == other.Name {
					p.fail("two files have the name %s", quote(f.Name))
				}
			}
		}
		return
	}
	seen := make(map[string]bool, len(m.files))
	for _, f := range m.files {
		if seen[f.Name] {
			p.fail("two files have the name %s", quote(f.Name))
		}
		seen[f.Name] = true
	}
}
