package fsop_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

func TestWriteFileIsOldOrNewAtEachFailurePoint(t *testing.T) {
	for script := range fsoptest.Failures(t, unix.EIO) {
		dir := tempDir(t)
		put(t, dir, target, oldData)
		fds := countFDs(t)
		err := script.Disk().WriteFile(dir, target, []byte(newData), 0o644)
		wantNames(t, dir, target)
		switch got := content(t, dir, target); {
		case err == nil && got != newData:
			t.Errorf("written without an error, but the content is %q", got)
		case err != nil && got != oldData && got != newData:
			t.Errorf("%v, and the content is %q", err, got)
		case err != nil:
			mustBeInjected(t, err)
		}
		if got := countFDs(t); got > fds {
			t.Errorf("%d descriptors, %d before", got, fds)
		}
	}
}

func TestWriteFileIsOldOrNewOnADyingDisk(t *testing.T) {
	for script := range fsoptest.Deaths(t, unix.EIO) {
		dir := tempDir(t)
		put(t, dir, target, oldData)
		err := script.Disk().WriteFile(dir, target, []byte(newData), 0o644)
		if got := content(t, dir, target); got != oldData && got != newData {
			t.Errorf("%v, and the content is %q", err, got)
		}
		if (err != nil) != script.Injected() {
			t.Errorf("error %v", err)
		}
	}
}

var temporary = regexp.MustCompile(`^index\.json\.tmp_[A-Za-z0-9]{6}$`)

func TestWriteFileIsOldOrNewWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	if isAgain() {
		t.Skip("once is enough")
	}
	for n := 0; ; n++ {
		for _, script := range []*fsoptest.Script{fsoptest.KillAt(n), fsoptest.KillAfter(n)} {
			dir := tempDir(t)
			put(t, dir, target, oldData)
			killed := writeInAnotherProcess(t, dir, script)
			got := content(t, dir, target)
			if !killed {
				if got != newData || n == 0 {
					t.Errorf("not killed at %d: content %q", n, got)
				}
				return
			}
			if got != oldData && got != newData {
				t.Errorf("%s: content %q", script.Spec(), got)
			}
			for _, name := range names(t, dir) {
				if name != target && !temporary.MatchString(name) {
					t.Errorf("%s left %q", script.Spec(), name)
				}
			}
		}
	}
}

func writeInAnotherProcess(t *testing.T, dir *os.File, script *fsoptest.Script) (killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), envWrite+"="+dir.Name(), envSpec+"="+script.Spec())
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if err.Error() != "signal: killed" {
		t.Fatalf("%s: %v\n%s", script.Spec(), err, out)
	}
	return true
}

func TestCommitIsAllOrNothingAtEachFailurePoint(t *testing.T) {
	for _, opts := range []fsop.CommitOptions{{}, {NoReplace: true}, {Sync: true}, {SyncDir: true}, {true, true, true}} {
		t.Run(fmt.Sprintf("%+v", opts), func(t *testing.T) {
			for script := range fsoptest.Failures(t, unix.ENOSPC) {
				dir := tempDir(t)
				put(t, dir, "neighbour", "")
				err := writeAndCommit(script.Disk(), dir, opts)
				got := names(t, dir)
				if len(got) == 2 && got[0] == target && content(t, dir, target) == newData {
					continue // whole, with or without an error
				}
				if err == nil || len(got) != 1 {
					t.Errorf("%v, and there is %q", err, got)
				}
			}
		})
	}
}

func writeAndCommit(d *fsop.Disk, dir *os.File, opts fsop.CommitOptions) error {
	f, err := d.CreateTemp(dir, fsop.TempPrefix(target), 0o644)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write([]byte(newData)); err != nil {
		return err
	}
	return f.Commit(target, opts)
}

func TestCommitOrdersContentBeforeNameBeforeDirectory(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	script := fsoptest.Record()
	must(t, script.Disk().WriteFile(dir, target, []byte(newData), 0o600))
	var ops []fsop.Op
	for _, c := range script.Changes() {
		ops = append(ops, c.Op)
	}
	if got := fmt.Sprint(ops); got != "[create write sync close rename syncdir]" {
		t.Errorf("order %s", got)
	}
}

func TestCommitWithoutReplacingKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, target, oldData)
	must(t, os.Mkdir(dir.Name()+"/empty", 0o700))
	must(t, os.Symlink("nowhere", dir.Name()+"/link"))
	for _, name := range []string{target, "empty", "link"} {
		f, err := real.CreateTemp(dir, "x.tmp_", 0o600)
		must(t, err)
		if err := f.Commit(name, fsop.CommitOptions{NoReplace: true}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantNames(t, dir, "empty", target, "link")
	if got := content(t, dir, target); got != oldData {
		t.Errorf("content %q", got)
	}
}

func TestCommitUnderTheNameItHas(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for _, opts := range []fsop.CommitOptions{{}, {NoReplace: true}} {
		f, err := real.Create(dir, target, 0o600)
		must(t, err)
		must(t, f.Commit(target, opts))
		must(t, f.Discard())
		wantNames(t, dir, target)
		must(t, real.Remove(dir, target))
	}
}

func TestWriteFileReplacesALinkAndNotItsTarget(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "elsewhere", oldData)
	must(t, os.Symlink("elsewhere", dir.Name()+"/"+target))
	must(t, real.WriteFile(dir, target, []byte(newData), 0o600))
	if content(t, dir, "elsewhere") != oldData || content(t, dir, target) != newData {
		t.Error("wrote through a symbolic link")
	}
}

func TestWriteFileDoesNotReplaceADirectory(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	must(t, os.Mkdir(dir.Name()+"/"+target, 0o700))
	if err := real.WriteFile(dir, target, nil, 0o600); err == nil {
		t.Error("no error")
	}
	wantNames(t, dir, target)
}
