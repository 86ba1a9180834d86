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

// Not parallel: the umask belongs to the process.
func TestModesAreExactWhateverTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077, 0o777} {
		dir := tempDir(t)
		withUmask(umask, func() {
			for name, mode := range map[string]fs.FileMode{"750": 0o750, "755": 0o755, "777": 0o777, "500": 0o500, "0": 0} {
				must(t, real.Mkdir(dir, "dir"+name, mode))
				f, err := real.Create(dir, "file"+name, mode)
				must(t, err)
				must(t, f.Close())
				must(t, real.WriteFile(dir, "whole"+name, nil, mode))
				for _, kind := range []string{"dir", "file", "whole"} {
					if st := stat(t, dir, kind+name); st.Mode&0o7777 != uint32(mode) {
						t.Errorf("umask %03o: %s %03o has %04o", umask, kind, mode, st.Mode&0o7777)
					}
				}
			}
		})
	}
}

func withUmask(mask int, f func()) {
	defer unix.Umask(unix.Umask(mask))
	f()
}

func TestNothingIsChangedThatIsRightAlready(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	script := fsoptest.Record()
	disk := script.Disk()
	disk.Owner = &fsop.Owner{UID: os.Getuid(), GID: os.Getgid()}
	must(t, disk.Mkdir(dir, "a", 0o700))
	f, err := disk.Create(dir, "b", 0o600)
	must(t, err)
	must(t, f.Close())
	if got := len(script.Changes()); got != 3 {
		t.Errorf("%d changes instead of mkdir, create, close: %v", got, script.Changes())
	}
}

func TestNewThingsAreGivenToTheOwner(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	disk := &fsop.Disk{Owner: &fsop.Owner{UID: 34, GID: 35}}
	if os.Getuid() != 0 {
		if err := disk.Mkdir(dir, "a", 0o750); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("mkdir: %v", err)
		}
		if err := disk.WriteFile(dir, "b", nil, 0o640); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("write: %v", err)
		}
		wantNames(t, dir)
		return
	}
	must(t, disk.Mkdir(dir, "a", 0o750))
	must(t, disk.WriteFile(dir, "b", nil, 0o640))
	disk.Owner.UID = -1
	must(t, disk.Mkdir(dir, "c", 0o750))
	for name, want := range map[string][3]uint32{"a": {34, 35, 0o750}, "b": {34, 35, 0o640}, "c": {0, 35, 0o750}} {
		if st := stat(t, dir, name); [3]uint32{st.Uid, st.Gid, st.Mode & 0o7777} != want {
			t.Errorf("%s: owner %d:%d, mode %04o", name, st.Uid, st.Gid, st.Mode&0o7777)
		}
	}
}

func TestMkdirKeepsAnInheritedGroup(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	must(t, os.Chmod(dir.Name(), 0o700|fs.ModeSetgid))
	must(t, real.Mkdir(dir, "a", 0o777))
	if st := stat(t, dir, "a"); st.Mode&0o7777 != 0o2777 {
		t.Errorf("mode %04o", st.Mode&0o7777)
	}
}

func TestMkdirLeavesAloneWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	must(t, os.Mkdir(dir.Name()+"/a", 0o500))
	must(t, os.Symlink("nowhere", dir.Name()+"/b"))
	for _, name := range []string{"a", "b"} {
		if err := real.Mkdir(dir, name, 0o755); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantNames(t, dir, "a", "b")
	if st := stat(t, dir, "a"); st.Mode&0o777 != 0o500 {
		t.Errorf("mode %04o", st.Mode)
	}
}

// A change that is reported as failed may have happened all the same.
func TestAFailedMkdirOrCreateLeavesNothing(t *testing.T) {
	withUmask(0o077, func() { // so that there is a chmod to fail
		for script := range fsoptest.Failures(t, unix.EIO) {
			dir := tempDir(t)
			disk := script.Disk()
			if os.Getuid() == 0 {
				disk.Owner = &fsop.Owner{UID: 34, GID: 34}
			}
			if err := disk.Mkdir(dir, "a", 0o755); err != nil {
				mustBeInjected(t, err)
				wantNames(t, dir)
			} else if f, err := disk.Create(dir, "b", 0o644); err != nil {
				mustBeInjected(t, err)
				wantNames(t, dir, "a")
			} else if err := f.Close(); err != nil {
				mustBeInjected(t, err)
				must(t, f.Discard())
				wantNames(t, dir, "a")
			}
		}
	})
}

func mustBeInjected(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, unix.EIO) {
		t.Errorf("%v, which is not the error that was injected", err)
	}
}
