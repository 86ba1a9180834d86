package blob_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

// vectors are what the original's blob code made of given inputs.
type vectors struct {
	RawKey    string `json:"raw-key"`
	Cases     []vector
	Malformed []malformed
}

type vector struct {
	Input             string
	CompressRequested bool `json:"compress-requested"`
	Encrypt           bool
	IsCompressed      bool `json:"is-compressed"`
	IsEncrypted       bool `json:"is-encrypted"`
	Magic, IV, Tag    string
	CRC               uint32
	RawHex            *string `json:"raw-hex"`
	RawLength         int     `json:"raw-length"`
	RawSHA256         string  `json:"raw-sha256"`
	Length            int
	SHA256            string
}

// malformed holds the original's answers: FromRaw to the header, Load to header
// and CRC, Decode to decoding *without* a look at the CRC.
type malformed struct {
	What    string
	RawHex  string  `json:"raw-hex"`
	WithKey bool    `json:"with-key"`
	FromRaw *string `json:"from-raw"`
	Load    *string
	Decode  *struct {
		Error    string
		OKSHA256 string `json:"ok-sha256"`
	}
}

func readVectors(tb testing.TB) vectors {
	tb.Helper()
	raw, err := os.ReadFile("testdata/blobs.json")
	if err != nil {
		tb.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(raw, &v); err != nil {
		tb.Fatal(err)
	}
	if len(v.Cases) < 50 || len(v.Malformed) < 10 {
		tb.Fatalf("only %d cases and %d malformed ones", len(v.Cases), len(v.Malformed))
	}
	return v
}

func unhex(tb testing.TB, text string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func (v vector) kind() blob.Kind {
	switch {
	case v.IsCompressed && v.IsEncrypted:
		return blob.ZstdEncrypted
	case v.IsEncrypted:
		return blob.Encrypted
	case v.IsCompressed:
		return blob.Zstd
	}
	return blob.Plain
}

func TestBlobsOfTheOriginalDecodeToTheirInputs(t *testing.T) {
	t.Parallel()
	dec := blob.NewDecoder()
	defer dec.Close()
	for _, v := range readVectors(t).Cases {
		if v.RawHex == nil {
			continue
		}
		raw := unhex(t, *v.RawHex)
		h, err := blob.ParseHeader(raw)
		if err != nil || h.Kind != v.kind() || h.CRC != v.CRC || hex.EncodeToString(raw[:8]) != v.Magic {
			t.Errorf("%s: header %+v, %v", v.Input, h, err)
		}
		if v.Encrypt && (hex.EncodeToString(h.IV[:]) != v.IV || hex.EncodeToString(h.Tag[:]) != v.Tag) {
			t.Errorf("%s: IV %x, tag %x", v.Input, h.IV, h.Tag)
		}
		if err := blob.VerifyCRC(raw); err != nil {
			t.Errorf("%s: %v", v.Input, err)
		}
		got, err := dec.Decode(nil, raw, v.Length)
		if v.Encrypt {
			if !errors.Is(err, blob.ErrNeedKey) || got != nil {
				t.Errorf("%s, encrypted: %d bytes, %v", v.Input, len(got), err)
			}
		} else if err != nil || sum(got) != v.SHA256 {
			t.Errorf("%s: %d bytes, %v", v.Input, len(got), err)
		}
	}
}

func TestPlainBlobsAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	enc := blob.NewEncoder()
	defer enc.Close()
	for _, v := range readVectors(t).Cases {
		if v.Encrypt || v.IsCompressed {
			continue
		}
		encode := enc.EncodePlain
		if v.CompressRequested {
			encode = enc.Encode
		}
		got, err := encode(nil, goldenspec.Bytes(t, v.Input))
		if err != nil || sum(got) != v.RawSHA256 || len(got) != v.RawLength {
			t.Errorf("%s, compress %v: %d bytes, %v; want %d", v.Input, v.CompressRequested, len(got), err, v.RawLength)
		}
	}
}

// The bytes depend on the compressor, but what is compressed and what is not
// does not, for these inputs.
func TestEncodeCompressesWhatTheOriginalCompresses(t *testing.T) {
	t.Parallel()
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	for _, v := range readVectors(t).Cases {
		if v.Encrypt || !v.IsCompressed {
			continue
		}
		data := goldenspec.Bytes(t, v.Input)
		stored, err := enc.Encode(nil, data)
		h, _ := blob.ParseHeader(stored)
		if err != nil || h.Kind != blob.Zstd || len(stored) > v.RawLength*5/4+1000 {
			t.Errorf("%s: %v, %d bytes where the original takes %d, %v", v.Input, h.Kind, len(stored), v.RawLength, err)
		}
		back, err := dec.Decode(nil, stored, len(data))
		if err != nil || !bytes.Equal(back, data) {
			t.Errorf("%s: %d bytes come back, %v", v.Input, len(back), err)
		}
	}
}

func TestMalformedBlobsAreAnsweredAsByTheOriginal(t *testing.T) {
	t.Parallel()
	dec := blob.NewDecoder()
	defer dec.Close()
	for _, m := range readVectors(t).Malformed {
		raw := unhex(t, m.RawHex)
		if _, err := blob.ParseHeader(raw); (err != nil) != (m.FromRaw != nil) {
			t.Errorf("%s: header: %v", m.What, err)
		} else if err != nil && !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("%s: header: %v is not ErrCorrupt", m.What, err)
		}
		if err := blob.VerifyCRC(raw); (err != nil) != (m.Load != nil) {
			t.Errorf("%s: load: %v", m.What, err)
		}
		if m.Load != nil {
			if _, err := dec.Decode(nil, raw, 1<<20); !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("%s: decoded without a look at the CRC: %v", m.What, err)
			}
		}
		if m.Decode != nil {
			checkDecode(t, dec, m, withRightCRC(raw))
		}
	}
}

func checkDecode(t *testing.T, dec *blob.Decoder, m malformed, raw []byte) {
	t.Helper()
	got, err := dec.Decode(nil, raw, 1<<20)
	switch {
	case strings.HasPrefix(m.What, "encrypted"):
		if !errors.Is(err, blob.ErrNeedKey) {
			t.Errorf("%s: %v", m.What, err)
		}
	case m.Decode.Error != "":
		if !errors.Is(err, blob.ErrCorrupt) || got != nil {
			t.Errorf("%s: %d bytes, %v", m.What, len(got), err)
		}
	case err != nil || sum(got) != m.Decode.OKSHA256:
		t.Errorf("%s: %d bytes, %v", m.What, len(got), err)
	}
}

// withRightCRC lets a damaged payload reach the decoder.
func withRightCRC(raw []byte) []byte {
	h, err := blob.ParseHeader(raw)
	if err != nil {
		return raw
	}
	raw = slices.Clone(raw)
	binary.LittleEndian.PutUint32(raw[8:], crc32.ChecksumIEEE(raw[h.Size():]))
	return raw
}

// The names of these files are the SHA-256 of what they hold, but for the
// encrypted ones. They are chunks of a store that the original wrote, from one
// byte to 16 MiB.
func TestChunksOfTheOriginalDecodeToWhatTheirNamesSay(t *testing.T) {
	t.Parallel()
	dec := blob.NewDecoder()
	defer dec.Close()
	names, err := filepath.Glob("testdata/chunks/*")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d chunks, %v", len(names), err)
	}
	var buf []byte
	for _, name := range names {
		stored, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := blob.ParseHeader(stored)
		if err != nil {
			t.Fatal(err)
		}
		buf, err = dec.Decode(buf[:0], stored, 16<<20)
		if h.Kind.Encrypted() {
			if !errors.Is(err, blob.ErrNeedKey) {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || sum(buf) != filepath.Base(name) {
			t.Errorf("%s: %d bytes with digest %s, %v", name, len(buf), sum(buf), err)
		}
	}
}
