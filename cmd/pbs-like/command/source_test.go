package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileThatShrinksWhileItIsReadIsNotStoredShort(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := parseSource("a.didx:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.open(nil); err != nil {
		t.Fatal(err)
	}
	defer closeSources([]*source{s})
	r, err := s.reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 500)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 600); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("%d bytes more, %v", n, err)
	}
}

func TestAFileIsReadWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"", "x", strings.Repeat("y", 100_000)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := parseSource("a.didx:" + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.open(nil); err != nil {
			t.Fatal(err)
		}
		r, err := s.reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != content {
			t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		closeSources([]*source{s})
	}
}
