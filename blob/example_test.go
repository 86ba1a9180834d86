package blob_test

import (
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
