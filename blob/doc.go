// Package blob is the container in which a datastore keeps chunks, manifests and
// small files: a header with a checksum around data that may be compressed or
// encrypted.
//
//	offset  bytes
//	0       8      magic: the kind
//	8       4      CRC-32 (IEEE) of all bytes after the header, little-endian
//	12      16     IV, encrypted kinds only
//	28      16     GCM tag, encrypted kinds only
//	12/44          payload
//
// An [Encoder] makes the stored form of data and a [Decoder] takes it apart
// again; both keep their memory, so that a loop over chunks makes no garbage:
//
//	enc, dec := blob.NewEncoder(), blob.NewDecoder()
//	defer enc.Close()
//	defer dec.Close()
//	stored, err := enc.Encode(nil, data)
//	data, err = dec.Decode(nil, stored, len(data))
//
// With a key, which is any [crypto/cipher.AEAD] with an IV and a tag of 16 bytes,
// [Encoder.EncodeEncrypted] and [Decoder.DecodeWithKey] do the same for encrypted
// blobs.
//
// [ParseHeader] and [VerifyCRC] need neither, and work on encrypted blobs too.
//
// Decoding is safe on hostile bytes: it takes no more memory than the limit it is
// given, several zstd frames in a row decode as one, and anything after the last
// frame is an error.
//
// What is not promised: the same compressed bytes from one version of this
// package to the next, or the same as the original's. The decoded data is the
// same. Nothing is encrypted but the payload: the kind and the size of a blob show.
// A CRC finds damage and not tampering, and says nothing about whether a
// chunk is stored under its own name.
package blob
