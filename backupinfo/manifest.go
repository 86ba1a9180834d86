package backupinfo

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/digest"
)

// MaxManifestSize bounds the JSON of a manifest, read or written, in bytes.
const MaxManifestSize = 64 << 20

// Manifest is the table of contents of a finished snapshot. It holds the JSON it
// was read from: whatever it does not know survives [Manifest.Marshal]. It is not
// safe for concurrent use while it is changed.
type Manifest struct {
	text string // the whole JSON; everything below that is a string points into it

	group Group // without namespace
	time  Time

	files    []File
	filesRaw string // the array as read
	read     int    // files[:read] are those of filesRaw

	signature string // the text of the JSON value, "" when absent
	resigned  bool   // signature is not what was read
	unprotected
}

// File is an entry of a manifest.
type File struct {
	// Name is the server's file name, one that [ParseFileName] accepts.
	Name string
	// CryptMode says how the data is protected. A blob's own header is what counts
	// for it: the key that is itself encrypted lies in a plain blob.
	CryptMode CryptMode
	// Size in bytes: for an index what it describes, for a blob the file as stored.
	Size uint64
	// Checksum is an index's checksum over its chunks, for a blob SHA-256 of the
	// file as stored.
	Checksum digest.Digest
}

// Kind returns how the file stores its data.
func (f File) Kind() ArchiveKind { return kindOf(f.Name) }

// NewManifest returns an unsigned manifest without files. The namespace of the
// snapshot is not part of a manifest. It fails when the snapshot is not valid.
func NewManifest(s Snapshot) (*Manifest, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return ParseManifest(fmt.Appendf(nil,
		`{"backup-id":"%s","backup-time":%d,"backup-type":"%s","files":[],"signature":null,"unprotected":{}}`,
		s.Group.ID, s.Time, s.Group.Type))
}

// Snapshot returns the snapshot that the manifest says it belongs to, in the given
// namespace: a manifest does not know its own. See [Manifest.Check].
func (m *Manifest) Snapshot(ns Namespace) Snapshot {
	return Snapshot{Group{ns, m.group.Type, m.group.ID}, m.time}
}

// Check returns an error when the manifest says that it belongs to another
// snapshot than the one whose directory it was found in. Namespaces are not
// compared.
func (m *Manifest) Check(s Snapshot) error {
	if own := m.Snapshot(s.Group.Namespace); own != s {
		return fmt.Errorf("%w: it is of %s, and was found in %s", ErrManifest, own, s)
	}
	return nil
}

// Files returns the entries in their order, in a slice of the caller's own.
func (m *Manifest) Files() []File { return slices.Clone(m.files) }

// File returns the entry with this server file name.
func (m *Manifest) File(name string) (File, bool) {
	i := slices.IndexFunc(m.files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return m.files[i], true
}

// Find returns the entry that a user means: the server's file name, the client's
// name, or a name without suffix that only one file has. "data.img" finds
// "data.img.fidx" or, when there is none, "data.img.didx". The error is a
// *[FileNotFoundError].
func (m *Manifest) Find(name string) (File, error) {
	if f, ok := m.File(name); ok {
		return f, nil
	}
	if a, err := ParseArchiveName(name); err == nil {
		if f, ok := m.File(a.File()); ok {
			return f, nil
		}
	}
	var found []File
	for _, f := range m.files {
		if strings.TrimSuffix(f.Name, f.Kind().Suffix()) == name {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return File{}, &FileNotFoundError{Name: name, Files: m.names()}
	}
	return found[0], nil
}

func (m *Manifest) names() []string {
	names := make([]string, len(m.files))
	for i, f := range m.files {
		names[i] = f.Name
	}
	return names
}

// FileNotFoundError is for a name that means no file of a backup, or more than one.
// It unwraps to [fs.ErrNotExist].
type FileNotFoundError struct {
	Name  string
	Files []string // what the backup has
}

func (e *FileNotFoundError) Error() string {
	if len(e.Files) == 0 {
		return fmt.Sprintf("no file %s in the backup, which has none", quote(e.Name))
	}
	shown := e.Files[:min(len(e.Files), 32)]
	return fmt.Sprintf("no single file %s in the backup, which has %s", quote(e.Name), strings.Join(shown, ", "))
}

// Unwrap returns [fs.ErrNotExist].
func (e *FileNotFoundError) Unwrap() error { return fs.ErrNotExist }

// AddFile adds an entry at the end. A signature no longer holds then and is
// removed. It fails, and changes nothing, when the name is not one that may be
// created, is there already, or is the manifest's own.
func (m *Manifest) AddFile(f File) error {
	if f.CryptMode == "" {
		f.CryptMode = CryptNone
	}
	if err := m.checkNewFile(f); err != nil {
		return err
	}
	m.files = append(m.files, f)
	m.signature, m.resigned = "null", true
	return nil
}

// checkNewFile is narrower than what reading accepts: the original takes no other
// names than those of the pattern that ids have.
func (m *Manifest) checkNewFile(f File) error {
	if _, err := ParseFileName(f.Name); err != nil {
		return err
	}
	if err := checkID(f.Name); err != nil {
		return fmt.Errorf("file name %s %w", quote(f.Name), err)
	}
	if f.Name == ManifestName {
		return fmt.Errorf("file name %s: is the manifest's own", quote(f.Name))
	}
	if _, ok := m.File(f.Name); ok {
		return fmt.Errorf("file name %s: is in the manifest already", quote(f.Name))
	}
	_, err := ParseCryptMode(string(f.CryptMode))
	return err
}
