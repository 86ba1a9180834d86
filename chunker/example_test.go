package chunker_test

import (
	"fmt"
	"strings"

	"github.com/pbs-like/pbs-like/chunker"
)

func Example() {
	c, err := chunker.New(256)
	if err != nil {
		fmt.Println(err)
		return
	}
	buf := []byte(strings.Repeat("one two three four five six seven eight nine ten, ", 50))
	for n := c.Scan(buf); n > 0; n = c.Scan(buf) {
		fmt.Println("a chunk of", n, "bytes")
		buf = buf[n:]
	}
	fmt.Println(len(buf), "bytes belong to the next one")
	// Output:
	// a chunk of 1024 bytes
	// a chunk of 1024 bytes
	// 452 bytes belong to the next one
}

func ExampleRule_Candidates() {
	rule, err := chunker.NewRule(256)
	if err != nil {
		fmt.Println(err)
		return
	}
	stream := make([]byte, 3000)
	for i := range stream {
		stream[i] = byte(i * i >> 3)
	}
	// Two goroutines could do this.
	left := rule.Candidates(nil, stream[:1500], 0)
	right := rule.Candidates(nil, stream[1500-chunker.Context:], 1500-chunker.Context)

	cutter := rule.Cutter()
	cuts := cutter.Cut(nil, left, 1500)
	cuts = cutter.Cut(cuts, right, 3000)
	fmt.Println(cuts, "and a last chunk from", cutter.Start())
	// Output:
	// [260 331 419 926 1076 1284 1355 1443 1950 2100 2308 2379 2467 2974] and a last chunk from 2974
}
