package fsop_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

func TestSettleGivesPermissionsToWhatNobodyMayRead(t *testing.T) {
	t.Parallel()
	dir, path := settleDir(t)
	for name, mode := range map[string]os.FileMode{"file": 0o644, "dir": 0o755} {
		var disk *fsop.Disk
		if err := disk.Settle(dir, name, mode); err != nil {
			t.Error(err)
		}
		if info, err := os.Lstat(filepath.Join(path, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		script := fsoptest.Record()
		if err := script.Disk().Settle(dir, name, mode); err != nil || len(script.Changes()) != 0 {
			t.Errorf("%s had them: %v, %v", name, script.Changes(), err)
		}
	}
}

func TestSettleRefusesWhatMayLieElsewhere(t *testing.T) {
	t.Parallel()
	dir, path := settleDir(t)
	outside := filepath.Join(t.TempDir(), "outside")
	for _, err := range []error{
		os.WriteFile(outside, nil, 0o600),
		os.Link(filepath.Join(path, "file"), filepath.Join(path, "second")),
		os.Symlink(outside, filepath.Join(path, "link")),
		unix.Mkfifo(filepath.Join(path, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"second", "link", "pipe", "missing", "../outside", "."} {
		script := fsoptest.Record()
		if err := script.Disk().Settle(dir, name, 0o644); err == nil || len(script.Changes()) != 0 {
			t.Errorf("%s: %v, %v", name, err, script.Changes())
		}
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func settleDir(t *testing.T) (*os.File, string) {
	t.Helper()
	path := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(path, "file"), nil, 0o600), os.Chmod(filepath.Join(path, "file"), 0),
		os.Mkdir(filepath.Join(path, "dir"), 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir, path
}
