package fsop_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

// everyOperation calls each operation that takes a name with that name.
func everyOperation(d *fsop.Disk, dir *os.File, name string) map[string]error {
	_, create := d.Create(dir, name, 0o600)
	return map[string]error{
		"Mkdir":       d.Mkdir(dir, name, 0o755),
		"Create":      create,
		"WriteFile":   d.WriteFile(dir, name, nil, 0o600),
		"Rename":      d.Rename(dir, name, dir, "b"),
		"Rename to":   d.Rename(dir, "a", dir, name),
		"Link":        d.Link(dir, name, dir, "b"),
		"Link to":     d.Link(dir, "a", dir, name),
		"Remove":      d.Remove(dir, name),
		"Rmdir":       d.Rmdir(dir, name),
		"RemoveTree":  d.RemoveTree(context(), dir, name),
		"Touch":       d.Touch(dir, name),
		"CommitAs":    commitAs(d, dir, name, false),
		"CommitNewAs": commitAs(d, dir, name, true),
	}
}

func commitAs(d *fsop.Disk, dir *os.File, name string, noReplace bool) error {
	f, err := d.CreateTemp(dir, "x.tmp_", 0o600)
	if err != nil {
		return err
	}
	return f.Commit(name, fsop.CommitOptions{NoReplace: noReplace})
}

func TestOnlySingleNamesAreTaken(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "/", "a/b", "/a", "a/", "../a", "a\x00b"} {
		dir := tempDir(t)
		put(t, dir, "a", oldData)
		for op, err := range everyOperation(real, dir, name) {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s %q: %v", op, name, err)
			}
		}
		wantNames(t, dir, "a")
	}
}

func TestWithoutADirectoryNothingIsDone(t *testing.T) {
	t.Parallel()
	closed := tempDir(t)
	closed.Close()
	for op, err := range everyOperation(real, nil, "a") {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s in nil: %v", op, err)
		}
	}
	for op, err := range everyOperation(real, closed, "a") {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s in a closed directory: %v", op, err)
		}
	}
}

func TestErrorsNameTheOperationAndThePath(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "b", "")
	path := dir.Name() + "/a"
	for want, err := range map[string]error{
		"remove " + path + ": no such file or directory":                          real.Remove(dir, "a"),
		"rmdir " + path + ": no such file or directory":                           real.Rmdir(dir, "a"),
		"touch " + path + ": no such file or directory":                           real.Touch(dir, "a"),
		"mkdir " + dir.Name() + "/b: file exists":                                 real.Mkdir(dir, "b", 0o755),
		"rename " + path + " " + dir.Name() + "/c: no such file or directory":     real.Rename(dir, "a", dir, "c"),
		`remove "a/b": not the name of an entry in a directory: invalid argument`: real.Remove(dir, "a/b"),
		"rename " + dir.Name() + "/b " + dir.Name() + "/b: file exists":           real.Rename(dir, "b", dir, "b"),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestInterruptedCallsAreMadeAgain(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	// The first change is interrupted by the hook; the operation itself must
	// not loop over an error that a hook gave.
	err := fsoptest.FailAt(0, unix.EINTR).Disk().Mkdir(dir, "a", 0o755)
	if !errors.Is(err, unix.EINTR) {
		t.Errorf("got %v, want the hook's error", err)
	}
	wantNames(t, dir)
}

func TestTouchChangesTheAccessTimeOnly(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "a", oldData)
	must(t, os.Symlink("a", dir.Name()+"/link"))
	long := unix.Timespec{Sec: 1000}
	for _, name := range []string{"a", "link"} {
		must(t, unix.UtimesNanoAt(int(dir.Fd()), name, []unix.Timespec{long, long}, unix.AT_SYMLINK_NOFOLLOW))
	}
	must(t, real.Touch(dir, "link"))
	if st := stat(t, dir, "a"); st.Atim != long {
		t.Error("a symbolic link was followed")
	}
	must(t, real.Touch(dir, "a"))
	for _, name := range []string{"a", "link"} {
		if st := stat(t, dir, name); st.Atim.Sec <= long.Sec || st.Mtim != long {
			t.Errorf("%s: accessed %v, changed %v", name, st.Atim, st.Mtim)
		}
	}
}

func TestSyncs(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	must(t, real.SyncDir(dir))
	must(t, real.SyncFS(dir))
	pipe, w, err := os.Pipe()
	must(t, err)
	defer pipe.Close()
	defer w.Close()
	if err := real.SyncDir(pipe); err != nil {
		t.Errorf("a file that knows no sync: %v", err) // fsync answers EINVAL
	}
	dir.Close()
	if err := real.SyncDir(dir); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
