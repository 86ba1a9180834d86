package chunkstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

func TestCreateMakesAllDirectories(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	if _, err := os.Stat("/dev/shm"); err == nil {
		// Elsewhere it can take minutes to remove them again.
		t.Setenv("TMPDIR", "/dev/shm")
	}
	dir := t.TempDir()
	root := openRoot(t, dir)
	last := -1
	progress := func(done, total int) {
		if done <= last || total != 65536 {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	}
	if err := Create(t.Context(), root, CreateOptions{Progress: progress}); err != nil {
		t.Fatal(err)
	}
	if last != 65536 {
		t.Errorf("the last progress is %d", last)
	}
	count := 0
	err := fs.WalkDir(os.DirFS(dir), ".chunks", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode() != 0o750|fs.ModeDir {
			t.Errorf("%s: mode %v", path, info.Mode())
		}
		count++
		return err
	})
	if err != nil || count != 65536+1 {
		t.Errorf("%d directories, %v", count, err)
	}
	checkNames(t, dir)
	openStore(t, root, nil)
}

func TestCreateLeavesAloneWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(path string) error{
		"an empty directory":    func(p string) error { return os.Mkdir(p, 0o755) },
		"a file":                func(p string) error { return os.WriteFile(p, nil, 0o644) },
		"a dangling link":       func(p string) error { return os.Symlink("nowhere", p) },
		"a link to a directory": func(p string) error { return os.Symlink("/tmp", p) },
	} {
		dir := t.TempDir()
		if err := plant(filepath.Join(dir, chunksName)); err != nil {
			t.Fatal(err)
		}
		if err := Create(t.Context(), openRoot(t, dir), CreateOptions{}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		onlyEntry(t, dir)
	}
}

// onlyEntry fails unless .chunks is all there is.
func onlyEntry(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != chunksName {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestCreateThatIsCancelledLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	opts := CreateOptions{Progress: func(done, _ int) {
		if done > 0 {
			cancel()
		}
	}}
	if err := Create(ctx, openRoot(t, dir), opts); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestCreateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	for script := range fsoptest.Failures(t, unix.ENOSPC) {
		dir := t.TempDir()
		err := CreateOptions{Disk: script.Disk()}.create(t.Context(), openRoot(t, dir), 3)
		if script.Injected() == (err == nil) {
			t.Errorf("error %v", err)
		}
		switch dirs, err := os.ReadDir(filepath.Join(dir, chunksName)); {
		case errors.Is(err, fs.ErrNotExist):
			if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
				t.Errorf("%v, %v", entries, err)
			}
		case len(dirs) != 3 || err != nil:
			t.Errorf("%v, %v", dirs, err)
		default:
			onlyEntry(t, dir)
		}
	}
}

func TestCompleteMakesWhatIsMissingAndOnlyThat(t *testing.T) {
	t.Parallel()
	for script := range fsoptest.Failures(t, unix.ENOSPC) {
		dir := t.TempDir()
		root := openRoot(t, dir)
		if err := (CreateOptions{}).create(t.Context(), root, 5); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"0001", "0003"} {
			if err := os.Remove(filepath.Join(dir, ".chunks", name)); err != nil {
				t.Fatal(err)
			}
		}
		s := openStore(t, root, script.Disk())
		made, err := s.complete(t.Context(), 5)
		if script.Injected() == (err == nil) || !script.Injected() && made != 2 {
			t.Errorf("%s: made %d, %v", script, made, err)
		}
		if _, err := s.complete(t.Context(), 5); err != nil {
			t.Error(err)
		}
		there, err := s.directories()
		if err != nil || len(there) != 5 {
			t.Errorf("%s: there are %v, %v", script, there, err)
		}
	}
}
