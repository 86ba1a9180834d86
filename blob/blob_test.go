package blob_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

// The magics are not ours to choose: each is the beginning of the hash of a
// sentence.
func TestMagicsAreTheHashesOfTheirSentences(t *testing.T) {
	t.Parallel()
	for kind, sentence := range map[blob.Kind]string{
		blob.Plain:         "Proxmox Backup uncompressed blob v1.0",
		blob.Zstd:          "Proxmox Backup zstd compressed blob v1.0",
		blob.Encrypted:     "Proxmox Backup encrypted blob v1.0",
		blob.ZstdEncrypted: "Proxmox Backup zstd compressed encrypted blob v1.0",
	} {
		hash := sha256.Sum256([]byte(sentence))
		h, err := blob.ParseHeader(append(hash[:8], make([]byte, 36)...))
		if err != nil || h.Kind != kind {
			t.Errorf("%s: %v, %v", sentence, h.Kind, err)
		}
	}
}

func TestKindsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for kind, want := range map[blob.Kind]struct {
		name                  string
		encrypted, compressed bool
		size                  int
	}{
		blob.Plain:         {"plain", false, false, blob.HeaderSize},
		blob.Zstd:          {"zstd", false, true, blob.HeaderSize},
		blob.Encrypted:     {"encrypted", true, false, blob.EncryptedHeaderSize},
		blob.ZstdEncrypted: {"zstd, encrypted", true, true, blob.EncryptedHeaderSize},
		blob.Kind(9):       {"Kind(9)", false, false, blob.HeaderSize},
	} {
		h := blob.Header{Kind: kind}
		if kind.String() != want.name || kind.Encrypted() != want.encrypted || kind.Compressed() != want.compressed || h.Size() != want.size {
			t.Errorf("%v: %v %v %d, want %+v", kind, kind.Encrypted(), kind.Compressed(), h.Size(), want)
		}
	}
}

func TestEncodeAppendsAndDecodeAppends(t *testing.T) {
	t.Parallel()
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	for _, spec := range []string{"str:", "str:hello world", "zero:100", "text:1:1M", "xs64:1:1M"} {
		data := goldenspec.Bytes(t, spec)
		stored, err := enc.Encode([]byte("in front"), data)
		if err != nil || string(stored[:8]) != "in front" {
			t.Fatalf("%s: %v", spec, err)
		}
		got, err := dec.Decode([]byte("before"), stored[8:], len(data))
		if err != nil || string(got) != "before"+string(data) {
			t.Errorf("%s: %d bytes, %v", spec, len(got), err)
		}
	}
}

func TestABlobIsCompressedOnlyWhenThatIsStrictlySmaller(t *testing.T) {
	t.Parallel()
	enc := blob.NewEncoder()
	defer enc.Close()
	for n := range 600 {
		for _, data := range [][]byte{make([]byte, n), goldenspec.Bytes(t, "text:1:600")[:n], goldenspec.Bytes(t, "xs64:1:600")[:n]} {
			stored, err := enc.Encode(nil, data)
			h, _ := blob.ParseHeader(stored)
			size := len(stored) - h.Size()
			if err != nil || h.Kind == blob.Plain && size != n || h.Kind == blob.Zstd && size >= n {
				t.Errorf("%d bytes: %v with %d, %v", n, h.Kind, size, err)
			}
		}
	}
}

// These have no repeats worth speaking of, only some bytes more often than others.
func TestShortTextAndBase64AreCompressed(t *testing.T) {
	t.Parallel()
	enc := blob.NewEncoder()
	defer enc.Close()
	for what, data := range map[string][]byte{
		"text":   goldenspec.Bytes(t, "text:1:1000"),
		"base64": []byte(base64.StdEncoding.EncodeToString(goldenspec.Bytes(t, "xs64:1:3M"))),
		"half random, half base64": append(goldenspec.Bytes(t, "xs64:1:1M"),
			base64.StdEncoding.EncodeToString(goldenspec.Bytes(t, "xs64:2:1M"))...),
		"random, twice": goldenspec.Bytes(t, "xs64:1:100K+xs64:1:100K"),
	} {
		stored, err := enc.Encode(nil, data)
		if err != nil || len(stored) > len(data)*9/10 {
			t.Errorf("%s: %d of %d bytes, %v", what, len(stored), len(data), err)
		}
	}
}

func TestTooMuchDataIsNotStored(t *testing.T) {
	t.Parallel()
	enc := blob.NewEncoder()
	defer enc.Close()
	data := make([]byte, blob.MaxSize+1)
	for what, encode := range map[string]func(dst, data []byte) ([]byte, error){"": enc.Encode, "plain": enc.EncodePlain} {
		got, err := encode([]byte("kept"), data)
		if !errors.Is(err, blob.ErrTooLarge) || string(got) != "kept" {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
}

func TestTheLargestBlobIsStoredAndComesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 400 MiB")
	}
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	data := make([]byte, blob.MaxSize)
	stored, err := enc.Encode(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dec.Decode(nil, stored, blob.MaxSize); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	stored, err := enc.Encode(nil, goldenspec.Bytes(t, "text:1:500"))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(stored) * 8 {
		bad := slices.Clone(stored)
		bad[bit/8] ^= 1 << (bit % 8)
		if err := blob.VerifyCRC(bad); !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("bit %d: %v", bit, err)
		}
		if _, err := dec.Decode(nil, bad, 500); !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("bit %d: decoded, %v", bit, err)
		}
	}
}

func TestCodersWorkAgainAfterAnErrorAndAfterClose(t *testing.T) {
	t.Parallel()
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	data := goldenspec.Bytes(t, "text:1:100000")
	for range 3 {
		stored, err := enc.Encode(nil, data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dec.Decode(nil, stored, 1000); !errors.Is(err, blob.ErrTooLarge) {
			t.Errorf("limit of 1000: %v", err)
		}
		if _, err := dec.Decode(nil, compressedBlob([]byte("no zstd")), 1000); !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("no zstd: %v", err)
		}
		if got, err := dec.Decode(nil, stored, len(data)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		for _, closeIt := range []func() error{enc.Close, enc.Close, dec.Close, dec.Close} {
			if err := closeIt(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWarmCodersAllocateNothing(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()
	var stored, data []byte
	all := samples(t)
	loop := func() {
		for _, s := range all {
			var err, decErr error
			stored, err = enc.Encode(stored[:0], s.data)
			data, decErr = dec.Decode(data[:0], stored, len(s.data))
			if err != nil || decErr != nil || len(data) != len(s.data) {
				t.Fatalf("%s: %v, %v", s.name, err, decErr)
			}
		}
	}
	if n := testing.AllocsPerRun(3, loop); n > 0 {
		t.Errorf("%v allocations for %d samples", n, len(all))
	}
}
