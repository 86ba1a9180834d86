package keys

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// showsSecret looks for the key and what is as good as the key, in the forms in
// which it could slip into a text.
func showsSecret(text string, secrets ...[]byte) bool {
	for _, secret := range secrets {
		for _, form := range []string{
			string(secret), hex.EncodeToString(secret), strings.ToUpper(hex.EncodeToString(secret)), base64.StdEncoding.EncodeToString(secret),
			strings.Trim(fmt.Sprintf("%v", secret), "[]"), strings.Trim(fmt.Sprintf("%#v", secret), "[]byte{}"), fmt.Sprintf("% x", secret),
		} {
			if strings.Contains(text, form) {
				return true
			}
		}
	}
	return false
}

func TestNoTextFormShowsTheSecret(t *testing.T) {
	t.Parallel()
	k := k1(t)
	f := newFile(t, k, "", FileOptions{KDF: None})
	type inside struct { // unexported fields: fmt calls no method of theirs
		key  *Key
		file *File
		kv   Key
		fv   File
	}
	values := []any{
		k, *k, &k, f, *f, &f,
		inside{k, f, *k, *f},
		&inside{k, f, *k, *f},
		[]*Key{k},
		[]Key{*k},
		map[string]*Key{"": k},
		map[string]*File{"": f},
		k.NewHasher(), *k.NewHasher(),
		struct{ K *Key }{k},
		struct{ F any }{f},
	}
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%c", "% x", "%#x", "%o", "%b", "%U", "%10v"} {
			if text := fmt.Sprintf(verb, v); showsSecret(text, k.s().raw[:], k.s().id[:]) {
				t.Errorf("%s of a %T shows the key: %.80q", verb, v, text)
			}
		}
		if text, err := json.Marshal(v); err == nil && showsSecret(string(text), k.s().raw[:], k.s().id[:]) {
			t.Errorf("JSON of a %T shows the key: %.80q", v, text)
		}
	}
	if got := fmt.Sprintf("%s, %v, %#v", k, f, (*Key)(nil)); got != "key 7b:b4:5f:30:e0:46:f4:3e, key file (none) with key 7b:b4:5f:30:e0:46:f4:3e, no key" {
		t.Error(got)
	}
	if (*File)(nil).String() != "no key file" || (&File{s: hide(&sealed{derivation: derivation{kdf: Scrypt}})}).GoString() != "key file (scrypt)" {
		t.Error("files without key")
	}
}

// Without its guards, the test above would find the key.
func TestSecretsAreFoundWhereTheyShow(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte{0xab, 0x12}, 16)
	for _, text := range []string{
		fmt.Sprintf("%v", secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), fmt.Sprintf("%#v", secret), fmt.Sprintf("% x", secret), string(secret),
		base64.StdEncoding.EncodeToString(secret),
	} {
		if !showsSecret("x"+text+"y", secret) {
			t.Errorf("not found in %s", text)
		}
	}
}
