package dirstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

// Two who share a directory exclude each other.
func Example() {
	dir, err := os.MkdirTemp("", "lock")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := dirstore.Open(dir, dirstore.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()

	ctx := context.Background()
	guard, err := storelock.Acquire(ctx, store, storelock.Options{Exclusive: true, Timeout: time.Minute})
	if err != nil {
		panic(err)
	}
	fmt.Println("may go on:", guard.Check(ctx) == nil)

	_, err = storelock.Acquire(ctx, store, storelock.Options{})
	fmt.Println("another one:", errors.Is(err, storelock.ErrTimeout))

	fmt.Println("given back:", guard.Close() == nil)
	// Output:
	// may go on: true
	// another one: true
	// given back: true
}
