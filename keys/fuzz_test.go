package keys

import (
	"errors"
	"strings"
	"testing"
)

func FuzzParseFile(f *testing.F) {
	for _, name := range []string{"k1-plain.json", "k1-scrypt.json", "k2-pbkdf2.json"} {
		f.Add(readTestdata(f, name))
	}
	for _, v := range vectors[keyVectors](f, "keys.json").LocalTime {
		f.Add([]byte(v.Text))
	}
	f.Add([]byte(scryptFile("2", "1", "1")))
	f.Add([]byte(pbkdf2File("1")))
	f.Add([]byte(`{"kdf":null,` + rest + `,` + rawData + `,"hint":"\ud83d\ude00\u2028<","x":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := ParseFile(text)
		if err != nil {
			if !errors.Is(err, ErrFile) || file != nil || len(err.Error()) > 1000 {
				t.Fatalf("%v, %v", file, err)
			}
			return
		}
		first := marshal(t, file)
		again, err := ParseFile([]byte(first))
		if err != nil {
			t.Fatalf("%s became %s, which is refused: %v", text, first, err)
		}
		if second := marshal(t, again); first != second {
			t.Fatalf("written as\n%s\nthen as\n%s", first, second)
		}
		if !again.Created().Equal(file.Created()) || !again.Modified().Equal(file.Modified()) || again.Hint() != file.Hint() {
			t.Fatalf("%s changed on the way through %s", text, first)
		}
		if file.NeedsPassphrase() {
			return // costs too much here
		}
		if k, err := file.Unlock(nil); err != nil && !errors.Is(err, ErrFile) || err == nil && showsSecret(file.String()+k.String(), k.s().raw[:]) {
			t.Fatalf("%v, %v", k, err)
		}
	})
}

func FuzzParseMasterKeys(f *testing.F) {
	for _, name := range []string{"master-public.pem", "master-private-encrypted.pem", "master-private-encrypted-sha1.pem", "ed25519.pem"} {
		f.Add(readTestdata(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := ParseMasterPublicKey(text); (key == nil) != (err != nil) || err != nil && !errors.Is(err, ErrFile) {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "RSA PRIVATE") { // checking its numbers is slow, and the standard library's
			return
		}
		key, err := ParseMasterPrivateKey(text, []byte("12345"))
		if (key == nil) != (err != nil) || err != nil && !errors.Is(err, ErrFile) && !errors.Is(err, ErrWrongPassphrase) {
			t.Fatal(err)
		}
	})
}
