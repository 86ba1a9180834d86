package index_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
)

func Example() {
	// Write: the entries go to a place behind the header, the header comes last.
	var entries bytes.Buffer
	w := index.NewDynamicWriter(&entries)
	if err := w.Add(11, digest.Of([]byte("hello world"))); err != nil {
		log.Fatal(err)
	}
	if err := w.Add(15, digest.Of([]byte("more"))); err != nil {
		log.Fatal(err)
	}
	header, checksum, err := w.Finish([16]byte{1, 2, 3}, 1_700_000_000)
	if err != nil {
		log.Fatal(err)
	}
	file := bytes.NewReader(append(header, entries.Bytes()...))

	// Read: which chunk holds byte 13?
	r, err := index.Open(file, file.Size(), index.Dynamic)
	if err != nil {
		log.Fatal(err)
	}
	i, err := r.ChunkAt(13)
	if err != nil {
		log.Fatal(err)
	}
	chunk, err := r.Chunk(i)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d bytes, chunk %d of %d from byte %d\n", chunk.Size(), r.Size(), i, r.Count(), 13-chunk.Start)
	fmt.Println(chunk.Digest == digest.Of([]byte("more")), r.Checksum() == checksum)
	// Output:
	// 4 of 15 bytes, chunk 1 of 2 from byte 2
	// true true
}
