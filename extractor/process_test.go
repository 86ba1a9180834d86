package extractor

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/pxar"
)

// onDisk writes an archive to a file that others may read, in a directory that they may write to.
func onDisk(t *testing.T, data []byte) (dir, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "extractor") //nolint:usetesting // another place, or open to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "archive")
	if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(path, data, 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// TestAKilledRestoreLeavesWholeFilesOnly kills the process in the middle of a file, and goes on.
func TestAKilledRestoreLeavesWholeFilesOnly(t *testing.T) {
	t.Parallel()
	data := built(t, pxar.Metadata{}, func(w *pxar.Writer) {
		put(t, w, pxar.Directory, "dir", "")
		put(t, w, pxar.File, "a", "whole")
		put(t, w, pxar.File, "b", strings.Repeat("x", 20*bufferSize))
		put(t, w, pxar.File, "c", "later")
		leave(t, w)
	})
	dir, archive := onDisk(t, data)
	target := filepath.Join(dir, "target")
	p := helperproc.Start(t, "extract", archive, target, "stop")
	p.WaitReady()
	p.Kill()
	left := names(t, target)
	if !strings.HasPrefix(left, "dir dir/.pbs-like-restore-") || !strings.HasSuffix(left, " dir/a") || readFile(t, target, "dir/a") != "whole" {
		t.Fatalf("%q", left)
	}
	stats := whole(t, openArchive(t, data, nil), target, Options{Continue: true})
	if stats.Unchanged != 1 || names(t, target) != "dir dir/a dir/b dir/c" || len(readFile(t, target, "dir/b")) != 20*bufferSize {
		t.Errorf("%+v, %q", stats, names(t, target))
	}
}

// TestSomebodyElseGetsWhatHeCan restores as nobody what root's tree was.
func TestSomebodyElseGetsWhatHeCan(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir, archive := onDisk(t, goldenfile.Read(t, "pxar", "v1/types.pxar.zst"))
	target := filepath.Join(dir, "target")
	nobody := helperproc.Options{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	p := helperproc.StartWith(t, nobody, "extract", archive, target)
	var lines []string
	for line := p.Line(); line != "done"; line = p.Line() {
		lines = append(lines, line)
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		`"/acl-user": without its owner 0:0: operation not permitted`, `"/caps-v2": without its fcaps: operation not permitted`,
		`"/suid": without its mode 04000: left out`, `"/char-1-3": make /char-1-3: operation not permitted`, `"/xattr": without its xattr "trusted.`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing is said of %s", want)
		}
	}
	for _, line := range lines {
		if !strings.Contains(line, "without its owner") && !strings.Contains(line, "not permitted") && !strings.Contains(line, "left out") {
			t.Errorf("unexpected: %s", line)
		}
	}
	if info, err := os.Stat(target + "/suid"); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(target + "/text"); err != nil || info.ModTime().Unix() != 1704890096 {
		t.Errorf("%v, %v", info.ModTime(), err)
	}
	b := backup{t: t}
	if m := b.metadata(target + "/acl-user"); m.ACL.IsZero() {
		t.Error("the access list is missing")
	}
}

// TestRsyncSeesNoDifference restores what was archived of a restored tree, and has the two trees compared.
func TestRsyncSeesNoDifference(t *testing.T) {
	t.Parallel()
	needRoot(t)
	if _, err := exec.LookPath("rsync"); err != nil && os.Getenv("CI") == "" {
		t.Skip("rsync is not installed")
	}
	for _, name := range []string{"types", "hardlinks", "names", "meta"} {
		first, second := disk(t), disk(t)
		whole(t, openArchive(t, goldenfile.Read(t, "pxar", "v1/"+name+".pxar.zst"), nil), first, Options{})
		whole(t, openArchive(t, archived(t, first), nil), second, Options{})
		out, err := exec.Command("rsync", "-aHAX", "--dry-run", "--itemize-changes", "--delete", "--checksum", first+"/", second).CombinedOutput()
		if err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// FuzzNothingLeavesTheTarget restores anything.
func FuzzNothingLeavesTheTarget(f *testing.F) {
	for name, data := range goldenfile.MalformedTrees(f) {
		if strings.HasSuffix(name, ".pxar") && len(data) < 4096 {
			f.Add(data, uint8(0))
			f.Add(data, uint8(7))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		a, err := tryOpen(data, nil)
		if err != nil {
			return
		}
		base, before := outside(t)
		// Devices of somebody's choice are no good company on the machine of a test.
		opts := Options{NoSync: true, NoDeviceNodes: true, AllowExistingDirs: how&1 != 0, Continue: how&2 != 0}
		if how&4 != 0 {
			opts.Overwrite = everything
		}
		for range 2 {
			if _, err := Extract(t.Context(), a, base+"/target", opts); err != nil && errors.Is(err, unix.EBADF) {
				t.Error(err)
			}
		}
		if state(t, base+"/outside") != before {
			t.Error("something outside was changed")
		}
		left, err := os.ReadDir(base)
		if err != nil || len(left) != 2 {
			t.Errorf("%v, %v", left, err)
		}
		if os.RemoveAll(base) != nil { // flags keep it
			_ = exec.Command("chattr", "-R", "-ia", base).Run()
		}
	})
}
