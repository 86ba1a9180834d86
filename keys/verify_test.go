package keys

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

type manifestVectors struct {
	Cases []struct {
		Signature, Fingerprint string
		Canonical              string `json:"canonical-utf8"`
		KeyIndex               int    `json:"key-index"`
	}
	RawKeys []string `json:"raw-keys"`
	Reading []struct {
		What, Text string
		NoKey      reading `json:"no-key"`
		RightKey   reading `json:"right-key"`
		WrongKey   reading `json:"wrong-key"`
	}
}

// reading is what the original answers: Error to reading, CheckFingerprint to the
// comparison of fingerprints that follows.
type reading struct {
	Error            string
	CheckFingerprint string `json:"check-fingerprint"`
}

func TestSignaturesAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	v := vectors[manifestVectors](t, "manifest.json")
	if len(v.Cases) < 9 {
		t.Fatalf("only %d cases", len(v.Cases))
	}
	for _, c := range v.Cases {
		k := newKey(t, unhex(t, v.RawKeys[c.KeyIndex]))
		mac := k.Sign([]byte(c.Canonical))
		if hex.EncodeToString(mac[:]) != c.Signature {
			t.Errorf("%s: %x, want %s", c.Canonical, mac, c.Signature)
		}
		fingerprint := k.Fingerprint()
		for _, named := range []*[32]byte{nil, &fingerprint} {
			if err := k.Verify([]byte(c.Canonical), c.Signature, named); err != nil {
				t.Errorf("%s: %v", c.Canonical, err)
			}
		}
	}
}

// manifest is what a manifest says about its signature. The texts of the vectors
// are canonical already.
func manifest(t *testing.T, text string) (message []byte, signature string, signed bool, fingerprint *[32]byte) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatal(err)
	}
	var unprotected struct {
		Fingerprint *string `json:"key-fingerprint"`
	}
	if err := json.Unmarshal(members["unprotected"], &unprotected); err != nil {
		t.Fatal(err)
	}
	if unprotected.Fingerprint != nil {
		f, err := parseFingerprint(*unprotected.Fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		fingerprint = &f
	}
	signed = string(members["signature"]) != "null"
	signature = strings.Trim(string(members["signature"]), `"`)
	before, _, _ := strings.Cut(text, `,"signature":`)
	return []byte(before + "}"), signature, signed, fingerprint
}

func TestManifestsAreVerifiedAsByTheOriginal(t *testing.T) {
	t.Parallel()
	v := vectors[manifestVectors](t, "manifest.json")
	right, wrong := newKey(t, unhex(t, v.RawKeys[1])), newKey(t, unhex(t, v.RawKeys[2]))
	for _, c := range v.Reading {
		if c.NoKey.Error != "" {
			continue // no manifest at all
		}
		message, signature, signed, fingerprint := manifest(t, c.Text)
		for _, with := range []struct {
			key  *Key
			want reading
		}{{nil, c.NoKey}, {right, c.RightKey}, {wrong, c.WrongKey}} {
			if with.key != nil && signed {
				checkAnswer(t, c.What, with.key.Verify(message, signature, fingerprint), with.want.Error)
			}
			if fingerprint != nil && with.want.Error == "" {
				checkAnswer(t, c.What, with.key.CheckFingerprint(*fingerprint), with.want.CheckFingerprint)
			}
		}
	}
}

func checkAnswer(t *testing.T, what string, err error, want string) {
	t.Helper()
	var wrong *WrongKeyError
	var missing *MissingKeyError
	switch {
	case want == "":
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case strings.HasPrefix(want, "wrong key"):
		if !errors.As(err, &wrong) || !errors.Is(err, blob.ErrWrongKey) || !strings.Contains(want, short(wrong.Want)) || !strings.Contains(want, short(wrong.Have)) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	case strings.HasPrefix(want, "missing key"):
		if !errors.As(err, &missing) || !errors.Is(err, blob.ErrNeedKey) || !strings.Contains(want, short(missing.Fingerprint)) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	case want == "wrong signature in manifest":
		if !errors.Is(err, ErrSignature) || errors.Is(err, blob.ErrWrongKey) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	default:
		t.Errorf("%s: an answer of no kind: %s", what, want)
	}
}

func TestOnlyTheExactSignatureVerifies(t *testing.T) {
	t.Parallel()
	k := k1(t)
	mac := k.Sign([]byte("message"))
	right := hex.EncodeToString(mac[:])
	for i := range right {
		changed := []byte(right)
		changed[i] ^= 1
		if err := k.Verify([]byte("message"), string(changed), nil); !errors.Is(err, ErrSignature) {
			t.Fatalf("character %d changed: %v", i, err)
		}
	}
	for _, text := range []string{"", right[1:], right + "0", strings.ToUpper(right), " " + right} {
		if err := k.Verify([]byte("message"), text, nil); !errors.Is(err, ErrSignature) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := k.Verify([]byte("message!"), right, nil); !errors.Is(err, ErrSignature) {
		t.Errorf("another message: %v", err)
	}
	if err := (*Key)(nil).Verify([]byte("message"), right, nil); !errors.Is(err, blob.ErrNeedKey) {
		t.Errorf("no key: %v", err)
	}
}

func TestAHasherBeginsAnewAfterEachDigest(t *testing.T) {
	t.Parallel()
	k := k1(t)
	h := k.NewHasher()
	for _, spec := range []string{"str:", "str:hello", "xs64:1:100000", "str:"} {
		data := goldenspec.Bytes(t, spec)
		for _, piece := range slices.Collect(slices.Chunk(data, 777)) {
			if n, err := h.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		if got := h.Digest(); got != k.Digest(data) {
			t.Errorf("%s: %s", spec, got)
		}
	}
}
