package keys

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestANewFileUnlocksWithItsPassphraseAlone(t *testing.T) {
	t.Parallel()
	k := k1(t)
	for kdf, want := range map[KDF]KDF{"": Scrypt, PBKDF2: PBKDF2} {
		f := newFile(t, k, "passphrase-1", FileOptions{KDF: kdf, Hint: "the <hint> & \"more\" äöü"})
		f = parse(t, []byte(marshal(t, f)))
		if f.Hint() != "the <hint> & \"more\" äöü" || f.KDF() != want || !f.NeedsPassphrase() {
			t.Errorf("%q: hint %q, %q", kdf, f.Hint(), f.KDF())
		}
		got, err := f.Unlock([]byte("passphrase-1"))
		if err != nil || got.s().raw != k.s().raw {
			t.Errorf("%q: %v", kdf, err)
		}
		if _, err := f.Unlock([]byte("passphrase-2")); !errors.Is(err, ErrWrongPassphrase) {
			t.Errorf("%q, another passphrase: %v", kdf, err)
		}
		if _, err := f.Unlock([]byte("pass")); !errors.Is(err, ErrShortPassphrase) {
			t.Errorf("%q, four bytes: %v", kdf, err)
		}
	}
}

func TestAFileWithoutPassphraseUnlocksWithAny(t *testing.T) {
	t.Parallel()
	f := newFile(t, k2(t), "", FileOptions{KDF: None})
	for _, passphrase := range []string{"", "1234", "whatever"} {
		if k, err := f.Unlock([]byte(passphrase)); err != nil || k.s().raw != k2(t).s().raw || f.NeedsPassphrase() {
			t.Errorf("%q: %v", passphrase, err)
		}
	}
}

func TestNoTwoFilesOfOneKeyAreAlike(t *testing.T) {
	t.Parallel()
	k := k1(t)
	a, b := newFile(t, k, "passphrase", FileOptions{KDF: PBKDF2}), newFile(t, k, "passphrase", FileOptions{KDF: PBKDF2})
	if bytes.Equal(a.s().salt, b.s().salt) || bytes.Equal(a.s().data, b.s().data) || bytes.Equal(a.s().data[:ivSize], b.s().data[:ivSize]) {
		t.Error("salt or IV is used twice")
	}
	if bytes.Contains(a.s().data, k.s().raw[:]) {
		t.Error("the key is not encrypted")
	}
	x, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	y, err := Generate()
	if err != nil || x.s().raw == y.s().raw || x.s().raw == [Size]byte{} {
		t.Errorf("two new keys are alike, %v", err)
	}
}

func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		passphrase string
		opts       FileOptions
		want       error
	}{
		"no passphrase":                {"", FileOptions{}, ErrShortPassphrase},
		"four bytes":                   {"1234", FileOptions{KDF: PBKDF2}, ErrShortPassphrase},
		"a passphrase for none":        {"passphrase", FileOptions{KDF: None}, nil},
		"a hint for none":              {"", FileOptions{KDF: None, Hint: "x"}, nil},
		"another KDF":                  {"passphrase", FileOptions{KDF: "argon2"}, nil},
		"a hint of two lines":          {"passphrase", FileOptions{Hint: "a\nb"}, nil},
		"a hint that is no text":       {"passphrase", FileOptions{Hint: "\xff"}, nil},
		"a long hint":                  {"passphrase", FileOptions{Hint: strings.Repeat("ü", MaxHint+1)}, nil},
		"a year of five digits":        {"passphrase", FileOptions{Now: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
		"a year before there were any": {"passphrase", FileOptions{Now: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
	} {
		f, err := NewFile(k1(t), []byte(c.passphrase), c.opts)
		if err == nil || f != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := NewFile(nil, []byte("passphrase"), FileOptions{}); err == nil {
		t.Error("a file without a key")
	}
}

func TestWithoutATimeTheClockDecides(t *testing.T) {
	t.Parallel()
	before := time.Now().Truncate(time.Second)
	f, err := NewFile(k1(t), nil, FileOptions{KDF: None})
	if err != nil || f.Created().Before(before) || f.Created().After(time.Now()) || f.Modified() != f.Created() {
		t.Errorf("created %v, %v", f.Created(), err)
	}
}

func TestChangingThePassphraseKeepsTheKeyAndWhenItWasMade(t *testing.T) {
	t.Parallel()
	later := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFile(t, k1(t), "passphrase-1", FileOptions{KDF: PBKDF2, Hint: "one"})
	changed, err := f.ChangePassphrase([]byte("passphrase-1"), []byte("passphrase-2"), FileOptions{KDF: PBKDF2, Hint: "two", Now: later})
	if err != nil {
		t.Fatal(err)
	}
	if changed.Created() != f.Created() || changed.Modified() != later || changed.Hint() != "two" {
		t.Errorf("created %v, modified %v, hint %q", changed.Created(), changed.Modified(), changed.Hint())
	}
	if k, err := changed.Unlock([]byte("passphrase-2")); err != nil || k.Fingerprint() != k1(t).Fingerprint() {
		t.Error(err)
	}
	for passphrase, file := range map[string]*File{"passphrase-1": changed, "passphrase-2": f} {
		if _, err := file.Unlock([]byte(passphrase)); !errors.Is(err, ErrWrongPassphrase) {
			t.Errorf("%s: %v", passphrase, err)
		}
	}
	if _, err := f.ChangePassphrase([]byte("passphrase-0"), []byte("passphrase-2"), FileOptions{}); !errors.Is(err, ErrWrongPassphrase) {
		t.Errorf("with a wrong one: %v", err)
	}
	if _, err := f.ChangePassphrase([]byte("passphrase-1"), []byte("1234"), FileOptions{}); !errors.Is(err, ErrShortPassphrase) {
		t.Errorf("to a short one: %v", err)
	}
	open, err := f.ChangePassphrase([]byte("passphrase-1"), nil, FileOptions{KDF: None, Now: later})
	if err != nil || open.NeedsPassphrase() || open.Hint() != "" {
		t.Errorf("to none: %v", err)
	}
}

func TestAFileThatNamesAnotherKeyDoesNotUnlock(t *testing.T) {
	t.Parallel()
	f := newFile(t, k1(t), "", FileOptions{KDF: None})
	f.fingerprint = k2(t).Fingerprint()
	if k, err := f.Unlock(nil); !errors.Is(err, ErrFile) || k != nil {
		t.Errorf("%v, %v", k, err)
	}
}

func TestAnyChangeOfTheSecretPartIsFound(t *testing.T) {
	t.Parallel()
	f := newFile(t, k1(t), "passphrase", FileOptions{KDF: PBKDF2})
	f.s().iterations = 1
	under, err := f.s().derive([]byte("passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	if f.s().data, err = sealKey(under, k1(t).s().raw); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Unlock([]byte("passphrase")); err != nil {
		t.Fatal(err)
	}
	for i := range f.s().data {
		f.s().data[i] ^= 1
		if _, err := f.Unlock([]byte("passphrase")); !errors.Is(err, ErrWrongPassphrase) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		f.s().data[i] ^= 1
	}
}

func TestParseKDFTakesTheThreeNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"scrypt", "pbkdf2", "none"} {
		if kdf, err := ParseKDF(name); err != nil || string(kdf) != name {
			t.Errorf("%s: %q, %v", name, kdf, err)
		}
	}
	for _, name := range []string{"", "Scrypt", "PBKDF2", "argon2", strings.Repeat("x", 1000)} {
		if _, err := ParseKDF(name); err == nil || len(err.Error()) > 200 {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}
