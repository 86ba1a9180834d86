package chunkstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTo lets everybody pass through the directories from above dir down to path.
func openTo(t *testing.T, dir, path string) {
	t.Helper()
	for d := filepath.Dir(path); strings.HasPrefix(d, filepath.Dir(dir)); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenNeedsADirectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(path string) error{
		"nothing":       func(string) error { return nil },
		"file":          func(p string) error { return os.WriteFile(p, nil, 0o644) },
		"pipe":          func(p string) error { return unix.Mkfifo(p, 0o666) },
		"symbolic link": func(p string) error { return os.Symlink("/tmp", p) },
	} {
		dir := t.TempDir()
		if err := plant(filepath.Join(dir, chunksName)); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(openRoot(t, dir), Options{}); !errors.Is(err, ErrNoStore) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}
