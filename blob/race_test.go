//go:build race

package blob_test

// raced says that the race detector is on. It throws away pooled memory at random.
const raced = true
