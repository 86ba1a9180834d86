package flock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func newDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "100")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newFile(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), ".lock")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// patience is for a lock that is free but for a child that another test is just
// starting: until it executes its program, it has all files of this process.
const patience = 10 * time.Second

// must takes a lock that has to be free, until the test ends.
func must[T interface{ Close() error }](t testing.TB, try func(Ref) (T, error), ref Ref) T {
	t.Helper()
	var g T
	err := Wait{Timeout: patience}.Do(t.Context(), func() (err error) {
		g, err = try(ref)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func TestWhoExcludesWhom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second string
		busy          bool
	}{
		{"shared", "shared", false},
		{"shared", "exclusive", true},
		{"exclusive", "shared", true},
		{"exclusive", "exclusive", true},
		{"record shared", "record shared", false},
		{"record shared", "record exclusive", true},
		{"record exclusive", "record shared", true},
		{"record exclusive", "record exclusive", true},
		{"exclusive", "record exclusive", false},
	} {
		t.Run(c.first+" then "+c.second, func(t *testing.T) {
			t.Parallel()
			name := newFile(t)
			first := must(t, take[c.first], Ref{Name: name})
			second, err := take[c.second](Ref{Name: name})
			if errors.Is(err, ErrLocked) != c.busy {
				t.Fatalf("in one process: %v, want busy %v", err, c.busy)
			}
			if err == nil {
				second.Close()
			}
			other := helperproc.Start(t, "try", c.second, name)
			other.WaitReady()
			other.Send("try")
			if got := other.Line(); (got != "free") != c.busy {
				t.Errorf("in another process: %q, want busy %v", got, c.busy)
			}
			first.Close()
			other.Send("wait")
			other.Expect("free")
		})
	}
}

func TestDirectoryAndFileBothWays(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(root, "vm/100"), 0o755),
		os.WriteFile(filepath.Join(root, "vm/100/owner"), nil, 0o644),
		os.Symlink("vm", filepath.Join(root, "link")),
		unix.Mkfifo(filepath.Join(root, "pipe"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, c := range []struct {
		name          string
		below, record error // with Dir; a record lock with Dir
		path          error // without Dir
	}{
		{".", nil, beneath.ErrNotRegular, nil},
		{"vm/100", nil, beneath.ErrNotRegular, nil},
		{"vm/100/owner", nil, nil, nil},
		{"none", fs.ErrNotExist, fs.ErrNotExist, fs.ErrNotExist},
		{"vm/101/owner", fs.ErrNotExist, fs.ErrNotExist, fs.ErrNotExist},
		{"vm/100/owner/x", unix.ENOTDIR, unix.ENOTDIR, unix.ENOTDIR},
		{"pipe", beneath.ErrNotRegular, beneath.ErrNotRegular, beneath.ErrNotRegular},
		{"link", beneath.ErrSymlink, beneath.ErrSymlink, nil},
		{"link/100", beneath.ErrSymlink, beneath.ErrSymlink, nil},
		{"..", beneath.ErrName, beneath.ErrName, nil},
	} {
		check := func(what, kind string, ref Ref, want error) {
			t.Helper()
			g, err := take[kind](ref)
			if !errors.Is(err, want) {
				t.Errorf("%s %q: %v, want %v", what, c.name, err, want)
			}
			if err == nil {
				g.Close()
			}
		}
		check("below", "exclusive", Ref{dir, c.name}, c.below)
		check("below, shared", "shared", Ref{dir, c.name}, c.below)
		check("record", "record shared", Ref{dir, c.name}, c.record)
		check("path", "exclusive", Ref{Name: root + "/" + c.name}, c.path)
	}
}

func TestReadPermissionIsEnoughForShared(t *testing.T) {
	t.Parallel()
	name := newFile(t)
	g := must(t, TryRecordShared, Ref{Name: name})
	flags, err := unix.FcntlInt(g.File().Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY {
		t.Errorf("opened with %#x, %v: want read-only", flags, err)
	}
}

func TestGuardsAreCloseOnExec(t *testing.T) {
	t.Parallel()
	for kind, try := range take {
		g := must(t, try, Ref{Name: newFile(t)})
		f := g.(interface{ File() *os.File }).File()
		if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s: descriptor flags %#x, %v", kind, flags, err)
		}
	}
}

func TestCloseIsIdempotentAndNilIsFine(t *testing.T) {
	t.Parallel()
	g := must(t, TryExclusive, Ref{Name: newDir(t)})
	for range 3 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := g.Check(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Check after Close = %v", err)
	}
	var s *SharedGuard
	var x *ExclusiveGuard
	if err := errors.Join(s.Close(), x.Close()); err != nil {
		t.Error(err)
	}
}

func TestCheckSeesReplacementAndRemoval(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	g := must(t, TryShared, Ref{Name: dir})
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".trash"); err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); !errors.Is(err, ErrChanged) {
		t.Errorf("Check of a removed name = %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); !errors.Is(err, ErrChanged) {
		t.Errorf("Check of a replaced name = %v", err)
	}
}
