//go:build !race

package blob_test

const raced = false
