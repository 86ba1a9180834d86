package chunkstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
)

func Example() {
	if err := example(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// there: false
	// written: true
	// hello world
}

func example() error {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// A store has 65,536 directories: chunkstore.Create makes them.
	if err := os.Mkdir(dir+"/.chunks", 0o750); err != nil {
		return err
	}
	root, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	s, err := chunkstore.Open(root, chunkstore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	return roundTrip(s, []byte("hello world"))
}

func roundTrip(s *chunkstore.Store, data []byte) error {
	d := digest.Of(data)
	there, err := s.Reuse(d)
	if err != nil {
		return err
	}
	fmt.Println("there:", there)

	enc := blob.NewEncoder()
	defer enc.Close()
	stored, err := enc.Encode(nil, data)
	if err != nil {
		return err
	}
	result, err := s.Insert(context.Background(), d, stored)
	if err != nil {
		return err
	}
	fmt.Println("written:", result.Written)

	loader := s.NewLoader()
	defer loader.Close()
	data, err = loader.Load(d, len(data))
	fmt.Println(string(data))
	return err
}
