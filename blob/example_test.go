package blob_test

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/pbs-like/pbs-like/blob"
)

func Example() {
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()

	data := []byte(strings.Repeat("hello world ", 100))
	stored, err := enc.Encode(nil, data)
	if err != nil {
		log.Fatal(err)
	}
	header, err := blob.ParseHeader(stored)
	if err != nil {
		log.Fatal(err)
	}
	back, err := dec.Decode(nil, stored, len(data))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(header.Kind, len(stored) < len(data), string(back) == string(data))
	// Output: zstd true true
}

// Package keys makes such an AEAD from a key file.
func ExampleEncoder_EncodeEncrypted() {
	block, err := aes.NewCipher([]byte("32 bytes that nobody must know!!"))
	if err != nil {
		log.Fatal(err)
	}
	key, err := cipher.NewGCMWithNonceSize(block, 16)
	if err != nil {
		log.Fatal(err)
	}
	enc, dec := blob.NewEncoder(), blob.NewDecoder()
	defer enc.Close()
	defer dec.Close()

	stored, err := enc.EncodeEncrypted(nil, []byte("hello"), key)
	if err != nil {
		log.Fatal(err)
	}
	_, err = dec.Decode(nil, stored, 100)
	fmt.Println(errors.Is(err, blob.ErrNeedKey))
	data, err := dec.DecodeWithKey(nil, stored, 100, key)
	fmt.Println(string(data), err)
	// Output:
	// true
	// hello <nil>
}
