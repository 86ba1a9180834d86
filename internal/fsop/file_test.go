package fsop_test

import (
	ctx "context"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

func context() ctx.Context { return ctx.Background() }

func TestCreateLeavesAloneWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "a", oldData)
	must(t, os.Symlink("nowhere", dir.Name()+"/b"))
	must(t, unix.Mkfifo(dir.Name()+"/c", 0o600))
	for _, name := range []string{"a", "b", "c"} {
		if _, err := real.Create(dir, name, 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantNames(t, dir, "a", "b", "c")
	if got := content(t, dir, "a"); got != oldData {
		t.Errorf("content %q", got)
	}
}

func TestAFileCanBeWrittenAndRead(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	script := fsoptest.Record()
	f, err := script.Disk().Create(dir, "a", 0o600)
	must(t, err)
	_, err = f.Write([]byte("0123"))
	must(t, err)
	_, err = f.Write([]byte("4567"))
	must(t, err)
	_, err = f.WriteAt([]byte("xx"), 1)
	must(t, err)
	must(t, f.Truncate(6))
	must(t, f.Sync())
	var buf [4]byte
	_, err = f.ReadAt(buf[:], 2)
	must(t, err)
	if string(buf[:]) != "x345" || f.Name() != "a" || f.Path() != dir.Name()+"/a" || f.File() == nil {
		t.Errorf("read %q from %s, %s", buf, f.Name(), f.Path())
	}
	must(t, f.Close())
	must(t, f.Discard())
	if got := content(t, dir, "a"); got != "0xx345" {
		t.Errorf("content %q", got)
	}
	var ops []string
	for _, c := range script.Changes() {
		ops = append(ops, string(c.Op))
	}
	if got := strings.Join(ops, " "); got != "create write write write truncate sync close" {
		t.Errorf("changes: %s", got)
	}
}

func TestTemporaryNames(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	f, err := real.CreateTemp(dir, fsop.TempPrefix(target), 0o600)
	must(t, err)
	if !regexp.MustCompile(`^index\.json\.tmp_[A-Za-z0-9]{6}$`).MatchString(f.Name()) {
		t.Errorf("name %q", f.Name())
	}
	must(t, f.Discard())
	must(t, f.Discard())
	wantNames(t, dir)
	for name, want := range map[string]string{
		"owner": "owner.tmp_", ".protected": ".protected.tmp_", "a.b.c": "a.b.tmp_", "a.": "a.tmp_", "": ".tmp_",
	} {
		if got := fsop.TempPrefix(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestATakenTemporaryNameIsNotTheEnd(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	f, err := fsoptest.FailAt(0, unix.EEXIST).Disk().CreateTemp(dir, "a.tmp_", 0o600)
	must(t, err)
	must(t, f.Close())
	taken := &fsop.Disk{Before: func(fsop.Change) error { return unix.EEXIST }}
	if _, err := taken.CreateTemp(dir, "a.tmp_", 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("all taken: %v", err)
	}
}

func TestDiscardCanBeTriedAgain(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	script := fsoptest.FailAt(1, unix.EIO) // 0 is the creation
	f, err := script.Disk().Create(dir, "a", 0o600)
	must(t, err)
	if err := f.Discard(); !errors.Is(err, unix.EIO) {
		t.Errorf("first: %v", err)
	}
	wantNames(t, dir, "a")
	must(t, f.Discard())
	wantNames(t, dir)
}

func TestAFailedCloseCanBeDiscarded(t *testing.T) {
	t.Parallel()
	for _, script := range []*fsoptest.Script{fsoptest.FailAt(1, unix.ENOSPC), fsoptest.FailAfter(1, unix.ENOSPC)} {
		dir := tempDir(t)
		f, err := script.Disk().Create(dir, "a", 0o600)
		must(t, err)
		if err := f.Close(); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("close: %v", err)
		}
		must(t, f.Discard())
		wantNames(t, dir)
		if err := f.File().Sync(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("the descriptor is still open: %v", err)
		}
	}
}
