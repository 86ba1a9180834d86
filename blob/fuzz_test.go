package blob_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
)

func FuzzDecodeNeverPanicsAndKeepsItsLimit(f *testing.F) {
	v := readVectors(f)
	for _, m := range v.Malformed {
		f.Add(unhex(f, m.RawHex), uint32(1<<16))
	}
	for _, c := range v.Cases {
		if c.RawHex != nil && len(*c.RawHex) < 2000 {
			f.Add(unhex(f, *c.RawHex), uint32(c.Length))
		}
	}
	f.Add(compressedBlob(sizedHeader(1<<63), rle(5, true)), uint32(100))
	f.Add(compressedBlob(zstdMagic, window512, rle(128<<10, true)), uint32(100))
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	f.Fuzz(func(t *testing.T, raw []byte, limit uint32) {
		limit %= 1 << 20
		// With the CRC as it is nothing but the header would be reached.
		stored := withRightCRC(raw)
		got, err := dec.Decode(nil, stored, int(limit))
		switch {
		case err == nil:
		case errors.Is(err, blob.ErrCorrupt), errors.Is(err, blob.ErrNeedKey), errors.Is(err, blob.ErrTooLarge):
			return
		default:
			t.Fatalf("an error of no kind: %v", err)
		}
		if len(got) > int(limit) || cap(got) > int(limit)+1<<16 {
			t.Fatalf("%d bytes, room for %d, with limit %d", len(got), cap(got), limit)
		}
		again, err := enc.Encode(nil, got)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := dec.Decode(nil, again, len(got)); err != nil || !bytes.Equal(back, got) {
			t.Fatalf("%d bytes come back as %d, %v", len(got), len(back), err)
		}
	})
}

// FuzzDecodeWithKey lets the key open what follows the header, so that decoding
// goes on behind the encryption.
func FuzzDecodeWithKey(f *testing.F) {
	f.Add([]byte{}, true, uint32(100))
	f.Add([]byte("hello world"), false, uint32(11))
	f.Add(slices.Concat(zstdMagic, window512, rle(128<<10, true)), true, uint32(100))
	f.Add(slices.Concat(sizedHeader(1<<63), rle(5, true)), true, uint32(100))
	key := otherKey(f)
	dec := blob.NewDecoder()
	f.Fuzz(func(t *testing.T, payload []byte, compressed bool, limit uint32) {
		limit %= 1 << 20
		plain, encrypted := blob.Plain, blob.Encrypted
		if compressed {
			plain, encrypted = blob.Zstd, blob.ZstdEncrypted
		}
		want, wantErr := dec.Decode(nil, around(plain, payload, nil), int(limit))
		got, err := dec.DecodeWithKey(nil, around(encrypted, payload, key), int(limit), key)
		if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) || errors.Is(err, blob.ErrTooLarge) != errors.Is(wantErr, blob.ErrTooLarge) {
			t.Fatalf("%d bytes, %v; without encryption %d bytes, %v", len(got), err, len(want), wantErr)
		}
		if errors.Is(err, blob.ErrWrongKey) || cap(got) > int(limit)+1<<16 {
			t.Fatalf("room for %d with limit %d, %v", cap(got), limit, err)
		}
	})
}

func FuzzWhatIsEncodedComesBack(f *testing.F) {
	f.Add([]byte{}, uint16(1))
	f.Add([]byte("hello world"), uint16(1))
	f.Add(make([]byte, 18), uint16(500))
	key := otherKey(f)
	f.Fuzz(func(t *testing.T, data []byte, times uint16) {
		data = bytes.Repeat(data, int(times)%1000)
		enc, dec := blob.NewEncoder(), blob.NewDecoder()
		stored, err := enc.Encode(nil, data)
		if err != nil || len(stored) > len(data)+blob.HeaderSize {
			t.Fatalf("%d bytes are stored in %d, %v", len(data), len(stored), err)
		}
		if back, err := dec.Decode(nil, stored, len(data)); err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%d bytes come back as %d, %v", len(data), len(back), err)
		}
		stored, err = enc.EncodeEncrypted(nil, data, key)
		if err != nil || len(stored) > len(data)+blob.EncryptedHeaderSize {
			t.Fatalf("%d bytes are stored in %d, %v", len(data), len(stored), err)
		}
		if back, err := dec.DecodeWithKey(nil, stored, len(data), key); err != nil || !bytes.Equal(back, data) {
			t.Fatalf("encrypted, %d bytes come back as %d, %v", len(data), len(back), err)
		}
	})
}
