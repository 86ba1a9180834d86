package keys

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata" // for machines that have no zones of their own

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

type keyVectors struct {
	Cases []struct {
		RawKey      string `json:"raw-key"`
		IDKey       string `json:"id-key"`
		Fingerprint string
		Short       string `json:"short-fingerprint"`
		Data        []struct {
			Input, Digest string
			AuthTag       string `json:"auth-tag"`
			PlainDigest   string `json:"plain-digest"`
		}
	}
	LocalTime []struct {
		TZ, Text string
	} `json:"created-in-local-time"`
	KDF []struct {
		KDF struct {
			Scrypt *struct {
				N, R, P uint64
				Salt    string
			}
			PBKDF2 *struct {
				Iter uint64
				Salt string
			}
		}
		Passphrase, Derived string
	}
	Files           []keyFileVector `json:"key-files"`
	WrongPassphrase struct {
		Key   json.RawMessage
		Cases []struct{ Error, Passphrase string }
	} `json:"wrong-passphrase"`
}

type keyFileVector struct {
	Created                       int64
	Fingerprint, Passphrase, Text string
	RawKey                        string `json:"raw-key"`
}

func TestKeysAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	v := vectors[keyVectors](t, "keys.json")
	if len(v.Cases) < 5 {
		t.Fatalf("only %d keys", len(v.Cases))
	}
	for _, c := range v.Cases {
		k := newKey(t, unhex(t, c.RawKey))
		fingerprint := k.Fingerprint()
		if hex.EncodeToString(k.s().id[:]) != c.IDKey || colonHex(fingerprint[:]) != c.Fingerprint || short(fingerprint) != c.Short {
			t.Errorf("%s: id key %x, fingerprint %x", c.RawKey, k.s().id, fingerprint)
		}
		h := k.NewHasher()
		for _, d := range c.Data {
			data := goldenspec.Bytes(t, d.Input)
			if k.Digest(data).String() != d.Digest || digest.Of(data).String() != d.PlainDigest {
				t.Errorf("%s, %s: digest %s", c.RawKey, d.Input, k.Digest(data))
			}
			if mac := k.Sign(data); hex.EncodeToString(mac[:]) != d.AuthTag {
				t.Errorf("%s, %s: signature %x", c.RawKey, d.Input, mac)
			}
			for piece := data; len(piece) > 0; piece = piece[min(len(piece), 1000):] {
				_, _ = h.Write(piece[:min(len(piece), 1000)])
			}
			if got := h.Digest().String(); got != d.Digest {
				t.Errorf("%s, %s: digest %s in pieces", c.RawKey, d.Input, got)
			}
		}
	}
}

func TestDerivationsAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	v := vectors[keyVectors](t, "keys.json")
	if len(v.KDF) < 18 {
		t.Fatalf("only %d derivations", len(v.KDF))
	}
	for i, c := range v.KDF {
		if s := c.KDF.Scrypt; testing.Short() && i > 0 && s != nil && s.N > 1024 {
			continue // one of those that take long
		}
		var d derivation
		var salt string
		if s := c.KDF.Scrypt; s != nil {
			d, salt = derivation{kdf: Scrypt, n: s.N, r: s.R, p: s.P}, s.Salt
		} else {
			d, salt = derivation{kdf: PBKDF2, iterations: c.KDF.PBKDF2.Iter}, c.KDF.PBKDF2.Salt
		}
		d.salt, _ = base64.StdEncoding.DecodeString(salt)
		if got, err := d.derive([]byte(c.Passphrase)); err != nil || hex.EncodeToString(got[:]) != c.Derived {
			t.Errorf("%q with %+v: %x, %v", c.Passphrase, d, got, err)
		}
	}
}

func TestKeyFilesOfTheOriginalUnlockAndAreWrittenAlike(t *testing.T) {
	t.Parallel()
	v := vectors[keyVectors](t, "keys.json")
	for _, c := range v.Files {
		f := parse(t, []byte(c.Text))
		if f.Created().Unix() != c.Created || f.Modified().Unix() != c.Created || f.NeedsPassphrase() != (c.Passphrase != "") {
			t.Errorf("%s: created %v, modified %v", c.Text, f.Created(), f.Modified())
		}
		if got := marshal(t, f); got != c.Text {
			t.Errorf("written as\n%s, want\n%s", got, c.Text)
		}
		k, err := f.Unlock([]byte(c.Passphrase))
		if err != nil || k.s().raw != unhex(t, c.RawKey) {
			t.Fatalf("%s: %v", c.Text, err)
		}
		if fingerprint := k.Fingerprint(); colonHex(fingerprint[:]) != c.Fingerprint {
			t.Errorf("%s: fingerprint %x", c.Text, fingerprint)
		}
	}
}

func TestGoldenKeysUnlock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		passphrase, hint string
		kdf              KDF
		key              *Key
	}{
		"k1-plain.json":  {"", "", None, k1(t)},
		"k1-scrypt.json": {"golden-scrypt-pass", "golden scrypt", Scrypt, k1(t)},
		"k2-pbkdf2.json": {"golden-pbkdf2-pass", "", PBKDF2, k2(t)},
	} {
		f := parse(t, readTestdata(t, name))
		k, err := f.Unlock([]byte(c.passphrase))
		if err != nil || k.s().raw != c.key.s().raw || f.Hint() != c.hint || f.KDF() != c.kdf {
			t.Errorf("%s: %v, hint %q, %s, %v", name, k, f.Hint(), f.KDF(), err)
		}
		if fingerprint, ok := f.Fingerprint(); !ok || fingerprint != c.key.Fingerprint() {
			t.Errorf("%s: fingerprint %x", name, fingerprint)
		}
		if got := marshal(t, f); got != string(readTestdata(t, name)) {
			t.Errorf("%s is written as %s", name, got)
		}
	}
}

func TestWrongPassphrasesAreToldApartAsByTheOriginal(t *testing.T) {
	t.Parallel()
	v := vectors[keyVectors](t, "keys.json").WrongPassphrase
	f := parse(t, v.Key)
	for _, c := range v.Cases {
		want := ErrWrongPassphrase
		if c.Error == "Passphrase is too short!" {
			want = ErrShortPassphrase
		}
		if k, err := f.Unlock([]byte(c.Passphrase)); !errors.Is(err, want) || k != nil {
			t.Errorf("%q: %v, want %v", c.Passphrase, err, want)
		}
	}
}

func TestTimesAreWrittenWithTheOffsetOfTheirZone(t *testing.T) {
	t.Parallel()
	v := vectors[keyVectors](t, "keys.json")
	for _, c := range v.LocalTime {
		zone, err := time.LoadLocation(c.TZ)
		if err != nil {
			t.Fatal(err)
		}
		created := time.Date(2024, 1, 15, 10, 0, 0, 0, time.UTC)
		modified := time.Date(2024, 7, 3, 9, 46, 40, 999, time.UTC)
		f := newFile(t, k1(t), "", FileOptions{KDF: None, Now: created.In(zone)})
		f, err = f.ChangePassphrase(nil, nil, FileOptions{KDF: None, Now: modified.In(zone)})
		if err != nil {
			t.Fatal(err)
		}
		if got := marshal(t, f); got != c.Text {
			t.Errorf("%s:\n%s, want\n%s", c.TZ, got, c.Text)
		}
		if got := marshal(t, parse(t, []byte(c.Text))); got != c.Text {
			t.Errorf("%s, read and written:\n%s, want\n%s", c.TZ, got, c.Text)
		}
	}
}

// The names of these files are the digests of what they hold: of a golden store,
// encrypted under K1 or K2.
func TestEncryptedChunksOfTheOriginalHaveTheDigestsOfOneKey(t *testing.T) {
	t.Parallel()
	dec := blob.NewDecoder()
	defer dec.Close()
	names, _ := filepath.Glob("../blob/testdata/chunks/*")
	seen := 0
	for _, name := range names {
		stored, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := blob.ParseHeader(stored); err != nil || !h.Kind.Encrypted() {
			continue
		}
		for _, k := range []*Key{k1(t), k2(t)} {
			data, err := dec.DecodeWithKey(nil, stored, 16<<20, k.AEAD())
			switch {
			case errors.Is(err, blob.ErrWrongKey):
			case err != nil || k.Digest(data).String() != filepath.Base(name):
				t.Errorf("%s: %d bytes with digest %s, %v", name, len(data), k.Digest(data), err)
			default:
				seen++
			}
		}
	}
	if seen == 0 {
		t.Error("no chunk opened")
	}
}
