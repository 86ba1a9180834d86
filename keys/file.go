package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// MinPassphrase is the shortest passphrase of a key file, in bytes.
	MinPassphrase = 5

	// MaxHint is the longest hint that is written, in characters.
	MaxHint = 64
)

// File is a key as it is kept, protected by a passphrase or not. A File does not
// change.
type File struct {
	created, modified time.Time

	// The key itself where there is no passphrase, and so hidden as in Key.
	s func() *sealed

	fingerprint    [32]byte
	hasFingerprint bool
	hint           string
}

type sealed struct {
	derivation
	data []byte // Size bytes without derivation, sealedSize with one
}

// FileOptions are how a key is kept.
type FileOptions struct {
	// KDF is how the passphrase protects the key; empty means Scrypt.
	KDF KDF

	// Hint is for people who don't remember the passphrase, and readable for
	// everybody: one line of at most MaxHint characters. Empty means none.
	Hint string

	// Now becomes the time of making or change, written with the offset of its own
	// zone; zero means the time of the call.
	Now time.Time
}

// NewFile returns a file with the key, protected by the passphrase. With None as
// KDF there must be no passphrase, and no hint.
//
// The errors are about the passphrase (ErrShortPassphrase) and the options.
func NewFile(key *Key, passphrase []byte, opts FileOptions) (*File, error) {
	if key == nil {
		return nil, fmt.Errorf("make a key file: %w", &MissingKeyError{})
	}
	if opts.KDF == "" {
		opts.KDF = Scrypt
	}
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	if err := opts.check(passphrase); err != nil {
		return nil, fmt.Errorf("make a key file: %w", err)
	}
	s, err := seal(key, passphrase, opts.KDF)
	if err != nil {
		return nil, fmt.Errorf("make a key file: %w", err)
	}
	now := opts.Now.Truncate(time.Second)
	return &File{created: now, modified: now, s: hide(s), fingerprint: key.fingerprint, hasFingerprint: true, hint: opts.Hint}, nil
}

func seal(key *Key, passphrase []byte, kdf KDF) (*sealed, error) {
	d := newDerivation(kdf)
	if kdf == None {
		return &sealed{d, slices.Clone(key.s().raw[:])}, nil
	}
	under, err := d.derive(passphrase)
	if err != nil {
		return nil, err
	}
	data, err := sealKey(under, key.s().raw)
	return &sealed{d, data}, err
}

func (o FileOptions) check(passphrase []byte) error {
	if _, err := ParseKDF(string(o.KDF)); err != nil {
		return err
	}
	if year := o.Now.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("time in the year %d", year)
	}
	switch none := o.KDF == None; {
	case none && (len(passphrase) > 0 || o.Hint != ""):
		return errors.New("without key derivation there is no passphrase, and no hint for one")
	case !none && len(passphrase) < MinPassphrase:
		return ErrShortPassphrase
	}
	if !utf8.ValidString(o.Hint) || utf8.RuneCountInString(o.Hint) > MaxHint || strings.ContainsFunc(o.Hint, unicode.IsControl) {
		return fmt.Errorf("hint of a passphrase must be one line of at most %d characters", MaxHint)
	}
	return nil
}

// Unlock returns the key. Without passphrase protection the passphrase does not
// matter. It may take a second, and with a file of somebody else's making a few
// and 256 MiB.
//
// The error is ErrShortPassphrase, ErrWrongPassphrase, or unwraps to ErrFile when
// the key is not the one that the file names by its fingerprint.
func (f *File) Unlock(passphrase []byte) (*Key, error) {
	raw, err := f.open(passphrase)
	if err != nil {
		return nil, err
	}
	key, err := New(raw)
	if err != nil {
		return nil, err
	}
	if f.hasFingerprint && key.fingerprint != f.fingerprint {
		return nil, fmt.Errorf("%w: it names key %s and holds %s", ErrFile, short(f.fingerprint), short(key.fingerprint))
	}
	return key, nil
}

func (f *File) open(passphrase []byte) ([Size]byte, error) {
	if f.s().kdf == None {
		return [Size]byte(f.s().data), nil
	}
	if len(passphrase) < MinPassphrase {
		return [Size]byte{}, ErrShortPassphrase
	}
	under, err := f.s().derive(passphrase)
	if err != nil {
		return [Size]byte{}, fmt.Errorf("derive from the passphrase: %w", err)
	}
	return openKey(under, f.s().data)
}

// ChangePassphrase returns a file with the same key under another passphrase, or
// with None as KDF under none. The time of making stays, the old hint does not. The
// errors are those of Unlock and NewFile.
func (f *File) ChangePassphrase(old, passphrase []byte, opts FileOptions) (*File, error) {
	key, err := f.Unlock(old)
	if err != nil {
		return nil, err
	}
	changed, err := NewFile(key, passphrase, opts)
	if err != nil {
		return nil, err
	}
	changed.created = f.created
	return changed, nil
}

// KDF returns how the file is protected.
func (f *File) KDF() KDF { return f.s().kdf }

// NeedsPassphrase reports whether Unlock needs one.
func (f *File) NeedsPassphrase() bool { return f.s().kdf != None }

// Fingerprint returns that of the key, and false when the file does not tell. It is
// only certain once Unlock has compared it.
func (f *File) Fingerprint() ([32]byte, bool) { return f.fingerprint, f.hasFingerprint }

// Hint returns the hint for the passphrase, "" for none. It is anybody's text.
func (f *File) Hint() string { return f.hint }

// Created returns when the key was made, in the zone where that was.
func (f *File) Created() time.Time { return f.created }

// Modified returns when the passphrase was last set.
func (f *File) Modified() time.Time { return f.modified }
