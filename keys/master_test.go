package keys

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
)

func public(tb testing.TB, name string) *rsa.PublicKey {
	tb.Helper()
	key, err := ParseMasterPublicKey(readTestdata(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func private(tb testing.TB, name, passphrase string) *rsa.PrivateKey {
	tb.Helper()
	key, err := ParseMasterPrivateKey(readTestdata(tb, name), []byte(passphrase))
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return key
}

func TestTheMasterKeyRecoversAKeyOfTheOriginal(t *testing.T) {
	t.Parallel()
	copied, err := blob.NewDecoder().Decode(nil, readTestdata(t, "rsa-encrypted.key.blob"), 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	f, err := DecryptWithMaster(copied, private(t, "master-private.pem", ""))
	if err != nil || marshal(t, f) != string(readTestdata(t, "k1-scrypt.json")) {
		t.Fatalf("%v, %v", f, err)
	}
	if k, err := f.Unlock([]byte("golden-scrypt-pass")); err != nil || k.Fingerprint() != k1(t).Fingerprint() {
		t.Error(err)
	}
}

func TestACopyForTheMasterComesBackThroughEachFormOfItsKey(t *testing.T) {
	t.Parallel()
	f := newFile(t, k2(t), "", FileOptions{KDF: None})
	for _, name := range []string{"master-public.pem", "master-public-pkcs1.pem"} {
		copied, err := f.EncryptForMaster(public(t, name))
		if err != nil || bytes.Contains(copied, k2(t).s().raw[:]) {
			t.Fatalf("%s: %v", name, err)
		}
		for name, passphrase := range map[string]string{
			"master-private.pem": "", "master-private-pkcs1.pem": "ignored",
			"master-private-encrypted.pem": "golden-master-pass", "master-private-encrypted-sha1.pem": "golden-master-pass",
		} {
			if NeedsMasterPassphrase(readTestdata(t, name)) != strings.Contains(name, "encrypted") {
				t.Errorf("%s: needs a passphrase or not", name)
			}
			back, err := DecryptWithMaster(copied, private(t, name, passphrase))
			if err != nil || marshal(t, back) != marshal(t, f) {
				t.Errorf("%s: %v, %v", name, back, err)
			}
		}
	}
}

func TestMasterKeysThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	encrypted := readTestdata(t, "master-private-encrypted.pem")
	block, _ := pem.Decode(encrypted)
	changed := func(at int, to ...byte) []byte {
		der := slices.Clone(block.Bytes)
		copy(der[at:], to)
		return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: der})
	}
	rounds := bytes.Index(block.Bytes, []byte{0x02, 0x02, 0x08, 0x00}) // 2048 as DER
	sha256 := bytes.Index(block.Bytes, []byte{0x86, 0xf7, 0x0d, 0x02, 0x09})
	if rounds < 0 || sha256 < 0 {
		t.Fatal("the encrypted key has another form")
	}
	for what, text := range map[string][]byte{
		"nothing":             nil,
		"no PEM":              []byte("hello"),
		"the other one":       readTestdata(t, "master-public.pem"),
		"not RSA":             readTestdata(t, "ed25519.pem"),
		"no key inside":       pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}),
		"not RSA as PKCS1":    pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte("x")}),
		"nothing encrypted":   pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY"}),
		"a KDF that is other": readTestdata(t, "master-private-scrypt.pem"),
		"too long":            pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: make([]byte, maxPEM)}),
		"no rounds":           changed(rounds+2, 0, 0),
		"negative rounds":     changed(rounds+2, 0x80, 0),
		"an unknown hash":     changed(sha256+4, 0x63),
		"not whole blocks":    pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: shortened(t, block.Bytes)}),
	} {
		if key, err := ParseMasterPrivateKey(text, []byte("golden-master-pass")); !errors.Is(err, ErrFile) || key != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, text := range map[string][]byte{
		"nothing": nil, "no PEM": []byte("hello"), "the private one": readTestdata(t, "master-private.pem"), "not RSA": readTestdata(t, "ed25519-public.pem"),
		"no key inside": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}),
		"too long":      pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: make([]byte, maxPEM)}),
	} {
		if key, err := ParseMasterPublicKey(text); !errors.Is(err, ErrFile) || key != nil {
			t.Errorf("public, %s: %v", what, err)
		}
	}
	for _, passphrase := range []string{"", "wrong", "golden-master-pas"} {
		if _, err := ParseMasterPrivateKey(encrypted, []byte(passphrase)); !errors.Is(err, ErrWrongPassphrase) {
			t.Errorf("passphrase %q: %v", passphrase, err)
		}
	}
	if NeedsMasterPassphrase(nil) {
		t.Error("nothing needs a passphrase")
	}
}

func TestOnlyWholePaddingIsTakenOff(t *testing.T) {
	t.Parallel()
	block := "0123456789abcdef"
	for data, want := range map[string]string{
		block[:15] + "\x01": block[:15], block[:12] + "\x04\x04\x04\x04": block[:12], block + strings.Repeat("\x10", 16): block,
	} {
		if got, err := unpad([]byte(data)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", data, got, err)
		}
	}
	for _, data := range []string{
		block[:15] + "\x00", block[:15] + "\x02", block[:12] + "\x04\x03\x04\x04", block[:15] + "\x11", block, "x" + block[1:15] + "\x01",
	} {
		if _, err := unpad([]byte(data)); !errors.Is(err, ErrWrongPassphrase) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// shortened takes one byte off the encrypted data at the end, and sets the lengths
// of both levels to it.
func shortened(t *testing.T, der []byte) []byte {
	t.Helper()
	der = slices.Clone(der[:len(der)-1])
	if der[1] != 0x82 {
		t.Fatal("another form of length")
	}
	outer := int(der[2])<<8 | int(der[3]) - 1
	der[2], der[3] = byte(outer>>8), byte(outer)
	inner := 4 + 2 + int(der[5]) // behind the algorithm
	if der[inner] != 0x04 || der[inner+1] != 0x82 {
		t.Fatal("another form of data")
	}
	n := int(der[inner+2])<<8 | int(der[inner+3]) - 1
	der[inner+2], der[inner+3] = byte(n>>8), byte(n)
	return der
}

func TestAWrongMasterKeyIsToldFromACopyOfNoKey(t *testing.T) {
	t.Parallel()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	right := private(t, "master-private.pem", "")
	copied, err := newFile(t, k1(t), "", FileOptions{KDF: None}).EncryptForMaster(&right.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(copied)
	damaged[100] ^= 1
	for what, c := range map[string]struct {
		copied []byte
		key    *rsa.PrivateKey
	}{
		"another key": {copied, other}, "a changed copy": {damaged, right}, "half a copy": {copied[:256], right}, "nothing": {nil, right},
	} {
		if f, err := DecryptWithMaster(c.copied, c.key); !errors.Is(err, ErrWrongMasterKey) || f != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	//lint:ignore SA1019 the format has this padding
	hello, err := rsa.EncryptPKCS1v15(rand.Reader, &right.PublicKey, []byte("hello")) //nolint:staticcheck // the format has this padding
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecryptWithMaster(hello, right); !errors.Is(err, ErrFile) || errors.Is(err, ErrWrongMasterKey) {
		t.Errorf("no key file: %v", err)
	}
	// 245 bytes fit into 2048 bits, a key file has 255.
	if _, err := newFile(t, k1(t), "", FileOptions{KDF: None}).EncryptForMaster(&other.PublicKey); err == nil || !strings.Contains(err.Error(), "2048 bits") {
		t.Errorf("a small master key: %v", err)
	}
}
