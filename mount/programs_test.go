package mount_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/mount"
)

// goldenTree mounts one tree of the original's store.
func goldenTree(t *testing.T) string {
	t.Helper()
	store := testds.Golden(t, "store")
	ds := store.Open(datastore.Options{})
	latest, err := ds.Latest(t.Context(), store.Group("ct/200"))
	if err != nil {
		t.Fatal(err)
	}
	point, _ := mounted(t, ds, mount.Options{Snapshot: &latest, Archive: archiveName(t, "root.pxar")})
	return point
}

// TestTarTakesATreeOutOfAMountWithItsLinks looks at what tar makes of it.
func TestTarTakesATreeOutOfAMountWithItsLinks(t *testing.T) {
	t.Parallel()
	point, out := goldenTree(t), t.TempDir()
	archive := filepath.Join(out, "tree.tar")
	run(t, "tar", "-C", point, "--numeric-owner", "--xattrs", "--xattrs-include=*", "-cf", archive, "--exclude=sock", ".")
	run(t, "tar", "-C", out, "--numeric-owner", "--xattrs", "--xattrs-include=*", "-xpf", archive, "--exclude=var/block-7-0", "--exclude=var/char-1-3")
	var first, second, third unix.Stat_t
	err := errors.Join(unix.Lstat(out+"/etc/sub/hello", &first), unix.Lstat(out+"/etc/sub/hello-hardlink", &second), unix.Lstat(out+"/var/hello-hardlink2", &third))
	if err != nil || first.Ino != second.Ino || first.Ino != third.Ino || first.Nlink != 3 {
		t.Error("the three names of a file:", first.Ino, second.Ino, third.Ino, err)
	}
	run(t, "cmp", point+"/var/big.dat", out+"/var/big.dat")
	if text := run(t, "tar", "-tf", archive); !strings.Contains(text, "./bin/suid\n") {
		t.Error(text)
	}
	if got, err := os.Readlink(out + "/bin/link-rel"); err != nil || got != "../etc/config.txt" {
		t.Error(got, err)
	}
}

func TestFindSeesTheSameNumbersInTheNextMount(t *testing.T) {
	t.Parallel()
	list := func() string {
		return run(t, "find", goldenTree(t), "-mindepth", "1", "-printf", `%P %i %m %n %s %T@ %U:%G %y %l\n`)
	}
	first, second := list(), list()
	if first != second || strings.Count(first, "\n") < 45 {
		t.Errorf("two mounts differ, or are too small:\n%s\n%s", first, second)
	}
}

func TestNothingCanBeWrittenAndNoDeviceOpened(t *testing.T) {
	t.Parallel()
	point := goldenTree(t)
	if err := os.WriteFile(point+"/new", nil, 0o600); !isErrno(err, syscall.EROFS) {
		t.Error("a new file:", err)
	}
	if err := os.Remove(point + "/empty-file"); !isErrno(err, syscall.EROFS) {
		t.Error("a removal:", err)
	}
	if _, err := os.OpenFile(point+"/empty-file", os.O_RDWR, 0); !isErrno(err, syscall.EROFS) {
		t.Error("to write to a file:", err)
	}
	if _, err := os.Open(point + "/var/char-1-3"); !isErrno(err, syscall.EACCES) {
		t.Error("a device:", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(point, &st); err != nil || st.Flags&unix.ST_NOSUID == 0 || st.Flags&unix.ST_RDONLY == 0 || st.Bavail != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestAFileSystemInAnImageCanBeMounted goes through a loop device, as libguestfs or a user would.
func TestAFileSystemInAnImageCanBeMounted(t *testing.T) {
	t.Parallel()
	needFUSE(t)
	needProgram(t, "mkfs.ext4", "fsck.ext4", "losetup", "mount", "umount")
	dir := t.TempDir()
	source, disk, inner := filepath.Join(dir, "source"), filepath.Join(dir, "disk"), filepath.Join(dir, "inner")
	content := bytes.Repeat([]byte("content of a file in an image\n"), 100_000)
	err := errors.Join(os.Mkdir(source, 0o755), os.Mkdir(inner, 0o755), os.WriteFile(source+"/file", content, 0o644), os.WriteFile(disk, nil, 0o600), os.Truncate(disk, 32<<20))
	if err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", "-q", "-d", source, disk)
	image, err := os.ReadFile(disk)
	if err != nil {
		t.Fatal(err)
	}
	store := testds.New(t)
	snapshot := store.Backup("vm/100", older, image)
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Snapshot: &snapshot, Archive: archiveName(t, testds.ImageName), Idle: 100 * time.Millisecond})
	path := filepath.Join(point, testds.ImageName)
	if list := names(t, point); len(list) != 1 {
		t.Error("beside the image:", list)
	}
	run(t, "cmp", path, disk)
	run(t, "fsck.ext4", "-fn", path)
	loop := strings.TrimSpace(run(t, "losetup", "-r", "--find", "--show", path))
	t.Cleanup(func() {
		_ = exec.Command("umount", "-l", inner).Run()
		_ = exec.Command("losetup", "-d", loop).Run()
	})
	run(t, "mount", "-o", "ro,noload", loop, inner)
	if got, err := os.ReadFile(inner + "/file"); err != nil || !bytes.Equal(got, content) {
		t.Error("a file in the image:", len(got), err)
	}
	// It is in use now, and stays so however long nobody reads.
	eventually(t, "what was read is forgotten", func() bool { return os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0) == nil })
	if _, err := store.Open(datastore.Options{}).RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); err == nil {
		t.Error("a snapshot was removed under a mounted file system")
	}
	run(t, "umount", inner)
	run(t, "losetup", "-d", loop)
}

// TestAKilledMountLeavesNoLockAndTheNextOneTakesItsPlace needs a process of its own.
func TestAKilledMountLeavesNoLockAndTheNextOneTakesItsPlace(t *testing.T) {
	t.Parallel()
	needFUSE(t)
	store, snapshot := twoSnapshots(t)
	point := t.TempDir()
	server := helperproc.Start(t, "mount", store.Dir, point, "")
	server.WaitReady()
	if _, err := os.ReadFile(imageOf(point, snapshot)); err != nil {
		t.Fatal(err)
	}
	ds := store.Open(datastore.Options{})
	if _, err := mount.New(t.Context(), point, ds, mount.Options{}); !errors.Is(err, mount.ErrPoint) || !strings.Contains(err.Error(), "is mounted there already") {
		t.Error("a mount on a mount:", err)
	}
	server.Kill()
	_ = server.Wait()
	eventually(t, "the kernel notices", func() bool {
		_, err := os.Stat(point)
		return isErrno(err, syscall.ENOTCONN)
	})
	if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); err != nil {
		t.Error("removal after the mount was killed:", err)
	}
	var told told
	m, err := mount.New(t.Context(), point, ds, mount.Options{Events: told.events()})
	if err != nil {
		t.Fatal(err)
	}
	if told.text() != "cleared "+point || len(names(t, point)) != 1 {
		t.Error(told.text(), names(t, point))
	}
	if err := m.Unmount(); err != nil {
		t.Error(err)
	}
}

func TestSomebodyElseUnmounts(t *testing.T) {
	t.Parallel()
	store, snapshot := twoSnapshots(t)
	point, m := mounted(t, store.Open(datastore.Options{}), mount.Options{Idle: time.Hour})
	if _, err := os.ReadFile(imageOf(point, snapshot)); err != nil {
		t.Fatal(err)
	}
	run(t, "umount", point)
	if err := m.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if open := below(t, store.Dir); len(open) > 0 {
		t.Error("still open:", open)
	}
	if err := m.Unmount(); err != nil {
		t.Error("once more:", err)
	}
}

func TestABusyMountIsDetachedAndServesWhatIsOpen(t *testing.T) {
	t.Parallel()
	store, snapshot := twoSnapshots(t)
	point, m := mounted(t, store.Open(datastore.Options{}), mount.Options{})
	f, err := os.Open(imageOf(point, snapshot))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := m.Unmount(); !errors.Is(err, mount.ErrBusy) {
		t.Fatal("with an open file:", err)
	}
	if err := m.Detach(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(imageOf(point, snapshot)); !errors.Is(err, os.ErrNotExist) {
		t.Error("the path afterwards:", err)
	}
	buf := make([]byte, 5)
	if _, err := f.ReadAt(buf, 9_000_000); err != nil || string(buf) != "older" {
		t.Errorf("the open file: %q, %v", buf, err)
	}
	select {
	case <-m.Done():
		t.Error("it ended with a file open")
	default:
	}
	f.Close()
	if err := m.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPointsThatCanNotBe(t *testing.T) {
	t.Parallel()
	store, snapshot := twoSnapshots(t)
	ds := store.Open(datastore.Options{})
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(dir+"/file", nil, 0o600), os.Symlink(store.Dir, link)); err != nil {
		t.Fatal(err)
	}
	for point, want := range map[string]string{
		"":                                   "it is empty",
		dir + "/none":                        "no such file",
		dir + "/file":                        "it is no directory",
		dir:                                  "it is not empty",
		filepath.Join(store.Dir, ".chunks"):  "it is not empty",
		filepath.Join(link, snapshot.Dir()):  "it is not empty",
		filepath.Dir(store.Dir):              "it is not empty",
		filepath.Join(link, "vm", "nothing"): "no such file",
	} {
		m, err := mount.New(t.Context(), point, ds, mount.Options{})
		if err == nil {
			_ = m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", point, err, want)
		}
	}
	empty := filepath.Join(store.Dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(empty)
	if _, err := mount.New(t.Context(), empty, ds, mount.Options{}); !errors.Is(err, mount.ErrPoint) || !strings.Contains(err.Error(), "in the datastore") {
		t.Error("in the store:", err)
	}
}

func TestWhatIsNamedAndCanNotBeShownIsToldBeforeAnythingIsMounted(t *testing.T) {
	t.Parallel()
	store, snapshot := twoSnapshots(t)
	ds := store.Open(datastore.Options{})
	none := snapshot
	none.Time = 1
	for name, opts := range map[string]mount.Options{
		"a snapshot that is not there":  {Snapshot: &none},
		"an archive that is not there":  {Snapshot: &snapshot, Archive: archiveName(t, "other.img")},
		"a namespace that is not there": {Namespace: namespace(t, "none")},
	} {
		point := t.TempDir()
		if _, err := mount.New(t.Context(), point, ds, opts); !errors.Is(err, datastore.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(run(t, "cat", "/proc/self/mountinfo"), point) {
			t.Errorf("%s: something is mounted", name)
		}
	}
}

func namespace(t testing.TB, name string) backupinfo.Namespace {
	t.Helper()
	ns, err := backupinfo.ParseNamespace(name)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// TestNothingIsLeftOfAMount runs alone, for it counts.
func TestNothingIsLeftOfAMount(t *testing.T) { //nolint:paralleltest // see above
	needFUSE(t)
	store, snapshot := twoSnapshots(t)
	ds := store.Open(datastore.Options{})
	before := len(below(t, "/dev/fuse"))
	m, err := mount.New(t.Context(), t.TempDir(), ds, mount.Options{Idle: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(imageOf(m.Point(), snapshot))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(filepath.Join(m.Point(), snapshot.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	// The connection is cut off while both are open: the kernel never tells that they are closed.
	if err := unix.Unmount(m.Point(), unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 5_000_000); err == nil {
		t.Error("a file can be read that is served no more")
	}
	f.Close()
	dir.Close()
	eventually(t, "all goroutines end", func() bool { return goroutines() == 0 })
	if open := below(t, store.Dir); len(open) > 0 {
		t.Error("still open:", open)
	}
	if after := len(below(t, "/dev/fuse")); after > before {
		t.Errorf("%d descriptors of /dev/fuse, before it were %d", after, before)
	}
}
