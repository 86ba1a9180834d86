package backupinfo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func readTestdata(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// vectors reads one of the tables that the original's own code wrote.
func vectors[T any](tb testing.TB, name string) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal(readTestdata(tb, name), &v); err != nil {
		tb.Fatal(err)
	}
	return v
}
