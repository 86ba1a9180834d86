package blob_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

// aead is AES-256-GCM with the format's IV of 16 bytes.
func aead(tb testing.TB, hexKey string) cipher.AEAD {
	tb.Helper()
	block, err := aes.NewCipher(unhex(tb, hexKey))
	if err != nil {
		tb.Fatal(err)
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, 16)
	if err != nil {
		tb.Fatal(err)
	}
	return gcm
}

func otherKey(tb testing.TB) cipher.AEAD {
	tb.Helper()
	return aead(tb, strings.Repeat("7f", 32))
}

// around returns a blob of any payload, encrypted under a key of its own IV if
// there is one.
func around(kind blob.Kind, payload []byte, key cipher.AEAD) []byte {
	magics := map[blob.Kind]string{
		blob.Plain: "42ab3807be8370a1", blob.Zstd: "31b958426fb6a37f", blob.Encrypted: "7b6785be222d4cf0", blob.ZstdEncrypted: "e6591bbf0bbfd80b",
	}
	raw, _ := hex.DecodeString(magics[kind])
	raw = append(raw, 0, 0, 0, 0)
	if key != nil {
		iv := []byte("an IV of 16 byte")
		sealed := key.Seal(nil, iv, payload, nil)
		tag := sealed[len(payload):]
		raw, payload = slices.Concat(raw, iv, tag), sealed[:len(payload)]
	}
	return withRightCRC(append(raw, payload...))
}

func TestEncryptedBlobsOfTheOriginalDecodeToTheirInputs(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	key := aead(t, v.RawKey)
	dec := blob.NewDecoder()
	defer dec.Close()
	seen := 0
	for _, c := range v.Cases {
		if c.RawHex == nil {
			continue
		}
		raw := unhex(t, *c.RawHex)
		got, err := dec.DecodeWithKey([]byte("in front"), raw, c.Length, key)
		if err != nil || string(got[:8]) != "in front" || sum(got[8:]) != c.SHA256 {
			t.Errorf("%s, encrypted %v: %d bytes, %v", c.Input, c.Encrypt, len(got), err)
		}
		if !c.Encrypt {
			continue
		}
		seen++
		if got, err := dec.DecodeWithKey(nil, raw, c.Length, otherKey(t)); !errors.Is(err, blob.ErrWrongKey) || errors.Is(err, blob.ErrCorrupt) || got != nil {
			t.Errorf("%s, another key: %d bytes, %v", c.Input, len(got), err)
		}
	}
	if seen < 20 {
		t.Errorf("only %d encrypted ones", seen)
	}
}

func TestOursAreAsLongAsTheEncryptedBlobsOfTheOriginal(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	key := aead(t, v.RawKey)
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	for _, c := range v.Cases {
		if !c.Encrypt || !c.CompressRequested {
			continue
		}
		data := goldenspec.Bytes(t, c.Input)
		stored, err := enc.EncodeEncrypted([]byte("in front"), data, key)
		if err != nil || string(stored[:8]) != "in front" {
			t.Fatalf("%s: %v", c.Input, err)
		}
		stored = stored[8:]
		h, err := blob.ParseHeader(stored)
		if err != nil || h.Kind != c.kind() || !c.IsCompressed && len(stored) != c.RawLength || len(stored) > c.RawLength*5/4+1000 {
			t.Errorf("%s: %v, %d bytes where the original takes %d, %v", c.Input, h.Kind, len(stored), c.RawLength, err)
		}
		if err := blob.VerifyCRC(stored); err != nil {
			t.Errorf("%s: %v", c.Input, err)
		}
		if got, err := dec.DecodeWithKey(nil, stored, len(data), key); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes come back, %v", c.Input, len(got), err)
		}
	}
}

func TestMalformedEncryptedBlobsAreAnsweredAsByTheOriginal(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	dec := blob.NewDecoder()
	defer dec.Close()
	for _, m := range v.Malformed {
		if !m.WithKey {
			continue
		}
		key := aead(t, v.RawKey)
		if strings.Contains(m.What, "wrong key") {
			key = otherKey(t)
		}
		raw := unhex(t, m.RawHex)
		got, err := dec.DecodeWithKey(nil, raw, 1<<20, key)
		if m.Load != nil {
			if !errors.Is(err, blob.ErrCorrupt) || errors.Is(err, blob.ErrWrongKey) {
				t.Errorf("%s: %v", m.What, err)
			}
			raw = withRightCRC(raw)
			got, err = dec.DecodeWithKey(nil, raw, 1<<20, key)
		}
		switch {
		case m.Decode == nil:
			if !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("%s: %v", m.What, err)
			}
		case m.Decode.Error != "":
			if !errors.Is(err, blob.ErrWrongKey) || got != nil {
				t.Errorf("%s: %d bytes, %v", m.What, len(got), err)
			}
		case err != nil || sum(got) != m.Decode.OKSHA256:
			t.Errorf("%s: %d bytes, %v", m.What, len(got), err)
		}
	}
}

func TestEncryptedChunksOfTheOriginalOpenUnderOneOfTheirKeys(t *testing.T) {
	t.Parallel()
	dec := blob.NewDecoder()
	defer dec.Close()
	keys := []cipher.AEAD{
		aead(t, hex.EncodeToString(goldenspec.Bytes(t, "xs64:77:32"))), aead(t, hex.EncodeToString(goldenspec.Bytes(t, "xs64:78:32"))),
	}
	names, _ := filepath.Glob("testdata/chunks/*")
	seen := 0
	for _, name := range names {
		stored, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := blob.ParseHeader(stored); err != nil || !h.Kind.Encrypted() {
			continue
		}
		seen++
		opened := 0
		for _, key := range keys {
			_, err := dec.DecodeWithKey(nil, stored, 16<<20, key)
			if err == nil {
				opened++
			} else if !errors.Is(err, blob.ErrWrongKey) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if opened != 1 {
			t.Errorf("%s: opens under %d keys", name, opened)
		}
	}
	if seen == 0 {
		t.Error("no encrypted chunk")
	}
}

func TestAnyChangeOfAnEncryptedBlobIsFound(t *testing.T) {
	t.Parallel()
	key := otherKey(t)
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	for _, spec := range []string{"str:", "str:hello world", "zero:1000", "xs64:1:100"} {
		stored, err := enc.EncodeEncrypted(nil, goldenspec.Bytes(t, spec), key)
		if err != nil {
			t.Fatal(err)
		}
		for i := blob.HeaderSize; i < len(stored); i++ {
			changed := slices.Clone(stored)
			changed[i] ^= 1
			if i >= blob.EncryptedHeaderSize { // IV and tag are not covered by the CRC
				if _, err := dec.DecodeWithKey(nil, changed, 1<<20, key); !errors.Is(err, blob.ErrCorrupt) {
					t.Fatalf("%s, byte %d: %v", spec, i, err)
				}
			}
			got, err := dec.DecodeWithKey([]byte("kept"), withRightCRC(changed), 1<<20, key)
			if !errors.Is(err, blob.ErrWrongKey) || string(got) != "kept" {
				t.Fatalf("%s, byte %d, with the CRC to it: %q, %v", spec, i, got, err)
			}
		}
		for n := range stored {
			if _, err := dec.DecodeWithKey(nil, withRightCRC(stored[:n]), 1<<20, key); err == nil {
				t.Fatalf("%s: %d of %d bytes decode", spec, n, len(stored))
			}
		}
	}
}

func TestNoTwoBlobsShareAnIV(t *testing.T) {
	t.Parallel()
	key := otherKey(t)
	enc := blob.NewEncoder()
	defer enc.Close()
	seen := map[[16]byte]bool{}
	for range 1000 {
		stored, err := enc.EncodeEncrypted(nil, []byte("the same"), key)
		if err != nil {
			t.Fatal(err)
		}
		h, err := blob.ParseHeader(stored)
		if err != nil || seen[h.IV] || h.IV == [16]byte{} {
			t.Fatalf("IV %x, %v", h.IV, err)
		}
		seen[h.IV] = true
	}
}

// What is in the buffer after encryption is ciphertext, whatever the capacity
// that it had before.
func TestNoPlaintextIsLeftWhateverTheCapacity(t *testing.T) {
	t.Parallel()
	key := otherKey(t)
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	data := goldenspec.Bytes(t, "xs64:1:300")
	for room := range 500 {
		stored, err := enc.EncodeEncrypted(make([]byte, 3, 3+room), data, key)
		if err != nil || len(stored) != 3+blob.EncryptedHeaderSize+len(data) || bytes.Contains(stored[:cap(stored)], data[:16]) {
			t.Fatalf("room for %d: %d bytes, %v", room, len(stored), err)
		}
		before := slices.Clone(stored)
		got, err := dec.DecodeWithKey(make([]byte, 3, 3+room), stored[3:], len(data), key)
		if err != nil || !bytes.Equal(got[3:], data) {
			t.Fatalf("room for %d: %d bytes come back, %v", room, len(got), err)
		}
		if !bytes.Equal(stored, before) {
			t.Fatalf("room for %d: the stored form was changed", room)
		}
	}
}

func TestLimitsOfEncryptedBlobsAreExact(t *testing.T) {
	t.Parallel()
	key := otherKey(t)
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	random := goldenspec.Bytes(t, "xs64:1:1M")
	for _, n := range []int{1, 17, 18, 100, 128<<10 + 1, 1 << 20} {
		for _, data := range [][]byte{make([]byte, n), random[:n]} {
			stored, err := enc.EncodeEncrypted(nil, data, key)
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int{n, n + 1, blob.MaxSize, blob.MaxSize * 4} {
				if got, err := dec.DecodeWithKey(nil, stored, limit, key); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes with limit %d: %d bytes, %v", n, limit, len(got), err)
				}
			}
			for _, limit := range []int{n - 1, 0, -1} {
				if got, err := dec.DecodeWithKey(nil, stored, limit, key); !errors.Is(err, blob.ErrTooLarge) || got != nil {
					t.Errorf("%d bytes with limit %d: %d bytes, %v", n, limit, len(got), err)
				}
			}
		}
	}
}

func TestAnEncryptedBombIsBounded(t *testing.T) {
	key := otherKey(t)
	enc := blob.NewEncoder()
	defer enc.Close()
	stored, err := enc.EncodeEncrypted(nil, make([]byte, 64<<20), key)
	if err != nil {
		t.Fatal(err)
	}
	dec := blob.NewDecoder()
	defer dec.Close()
	var got []byte
	allocated := allocatedBy(func() { got, err = dec.DecodeWithKey(nil, stored, 1<<20, key) })
	if !errors.Is(err, blob.ErrTooLarge) || got != nil || allocated > 3<<20 {
		t.Errorf("%d bytes of memory for %d stored, %v", allocated, len(stored), err)
	}
}

func TestAKeyIsAskedForOnlyWhereOneIsNeeded(t *testing.T) {
	t.Parallel()
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	key := otherKey(t)
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	short, err := cipher.NewGCM(block) // with an IV of 12 bytes
	if err != nil {
		t.Fatal(err)
	}
	plain, err := enc.Encode(nil, []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	encrypted, err := enc.EncodeEncrypted(nil, []byte("hello"), key)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []cipher.AEAD{nil, short, key} {
		if got, err := dec.DecodeWithKey(nil, plain, 5, k); err != nil || string(got) != "hello" {
			t.Errorf("plain: %q, %v", got, err)
		}
	}
	if _, err := dec.DecodeWithKey(nil, encrypted, 5, nil); !errors.Is(err, blob.ErrNeedKey) {
		t.Errorf("no key: %v", err)
	}
	if _, err := dec.DecodeWithKey(nil, encrypted, 5, short); err == nil || errors.Is(err, blob.ErrWrongKey) || errors.Is(err, blob.ErrCorrupt) {
		t.Errorf("an IV of 12 bytes: %v", err)
	}
	if out, err := enc.EncodeEncrypted([]byte("kept"), nil, nil); !errors.Is(err, blob.ErrNeedKey) || string(out) != "kept" {
		t.Errorf("no key: %q, %v", out, err)
	}
	if out, err := enc.EncodeEncrypted([]byte("kept"), nil, short); err == nil || string(out) != "kept" {
		t.Errorf("an IV of 12 bytes: %q, %v", out, err)
	}
	if _, err := enc.EncodeEncrypted(nil, make([]byte, blob.MaxSize+1), key); !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("one byte too many: %v", err)
	}
}

func TestWarmCodersWithAKeyAllocateNothing(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	key := otherKey(t)
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	var stored, data []byte
	all := samples(t)
	loop := func() {
		for _, s := range all {
			var err, decErr error
			stored, err = enc.EncodeEncrypted(stored[:0], s.data, key)
			data, decErr = dec.DecodeWithKey(data[:0], stored, len(s.data), key)
			if err != nil || decErr != nil || len(data) != len(s.data) {
				t.Fatalf("%s: %v, %v", s.name, err, decErr)
			}
		}
	}
	if n := testing.AllocsPerRun(3, loop); n > 0 {
		t.Errorf("%v allocations for %d samples", n, len(all))
	}
}
