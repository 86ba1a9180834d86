package datastore_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// imageArchive makes a snapshot with this content and opens its image.
func imageArchive(t *testing.T, data []byte) *datastore.Archive {
	t.Helper()
	store := testds.New(t)
	reader, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), store.Backup("vm/100", first, data), datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := reader.OpenArchive(t.Context(), archive(t, testds.ImageName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(a.Close(), reader.Close()); err != nil {
			t.Error(err)
		}
	})
	return a
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestARestoredFileIsWholePrivateAndHasHoles(t *testing.T) {
	t.Parallel()
	data := image(t, "zero:5M+xs64:1:3M+zero:100000+text:1:5000+zero:4M")
	a := imageArchive(t, data)
	path := filepath.Join(t.TempDir(), "out.raw")
	stats, err := a.RestoreFile(t.Context(), path, datastore.RestoreOptions{})
	if err != nil || stats.Size != uint64(len(data)) || stats.Holes < 8<<20 || len(stats.Damaged) != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	if !bytes.Equal(contentOf(t, path), data) {
		t.Error("other content")
	}
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil || stat.Mode&0o7777 != 0o600 || stat.Blocks*512 > 4<<20 {
		t.Errorf("mode %o, %d bytes on disk, %v", stat.Mode, stat.Blocks*512, err)
	}
}

func TestWhatIsThereIsNotOverwrittenUnasked(t *testing.T) {
	t.Parallel()
	a := imageArchive(t, []byte("new"))
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	put(t, real, "old")
	symlink(t, "real", link)
	for _, path := range []string{real, link} {
		if _, err := a.RestoreFile(t.Context(), path, datastore.RestoreOptions{}); !errors.Is(err, datastore.ErrExists) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := a.RestoreFile(t.Context(), dir, datastore.RestoreOptions{Overwrite: true}); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	if string(contentOf(t, real)) != "old" {
		t.Error("it was written to")
	}
	if _, err := a.RestoreFile(t.Context(), link, datastore.RestoreOptions{Overwrite: true}); err != nil {
		t.Error(err)
	}
	if target, err := os.Readlink(link); err != nil || target != "real" || string(contentOf(t, real)) != "new" {
		t.Errorf("the link leads to %q, the file holds %q, %v", target, contentOf(t, real), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestADamagedArchiveLeavesNoFileAndASalvageNamesThePlaces(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	data := image(t, "xs64:1:4M+xs64:2:4M+xs64:3:4M")
	snapshot := store.Backup("vm/100", first, data)
	reader, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	a, err := reader.OpenArchive(t.Context(), archive(t, testds.ImageName))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	damageChunk(t, store, data[4<<20:8<<20])
	dir := t.TempDir()
	path := filepath.Join(dir, "out.raw")
	if _, err := a.RestoreFile(t.Context(), path, datastore.RestoreOptions{}); !errors.Is(err, datastore.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	stats, err := a.RestoreFile(t.Context(), path, datastore.RestoreOptions{Salvage: true})
	if !errors.Is(err, datastore.ErrCorrupt) || len(stats.Damaged) != 1 || stats.Damaged[0].Start != 4<<20 || stats.Damaged[0].End != 8<<20 {
		t.Errorf("%+v, %v", stats, err)
	}
	clear(data[4<<20 : 8<<20])
	if !bytes.Equal(contentOf(t, path), data) {
		t.Error("what could be saved was not")
	}
	var copied bytes.Buffer
	if _, err := a.CopyTo(t.Context(), &copied, datastore.RestoreOptions{Salvage: true}); !errors.Is(err, datastore.ErrCorrupt) || !bytes.Equal(copied.Bytes(), data) {
		t.Errorf("copied %d bytes, %v", copied.Len(), err)
	}
}

// damageChunk overwrites the middle of the file of a chunk.
func damageChunk(t *testing.T, store *testds.Store, data []byte) {
	t.Helper()
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	f, err := os.OpenFile(filepath.Join(store.Dir, ".chunks", sum[:4], sum), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("damage"), 1000); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// loopDevice makes a block device of a file.
func loopDevice(t *testing.T, size int64) string {
	t.Helper()
	backing := filepath.Join(t.TempDir(), "backing")
	put(t, backing, "")
	if err := os.Truncate(backing, size); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", backing).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device can be had here: %v: %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return device
}

func TestABlockDeviceIsWrittenInPlaceWhenAskedToAndFree(t *testing.T) {
	t.Parallel()
	data := image(t, "xs64:1:5M+zero:1M+text:1:2M")
	a := imageArchive(t, data)
	device := loopDevice(t, 16<<20)
	dirty := bytes.Repeat([]byte{0xff}, 16<<20)
	if err := os.WriteFile(device, dirty, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.RestoreFile(t.Context(), device, datastore.RestoreOptions{}); !errors.Is(err, datastore.ErrExists) {
		t.Errorf("unasked: %v", err)
	}
	if !bytes.Equal(contentOf(t, device), dirty) {
		t.Fatal("the device was written to")
	}
	if _, err := a.RestoreFile(t.Context(), device, datastore.RestoreOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, device); !bytes.Equal(got[:len(data)], data) || !bytes.Equal(got[len(data):], dirty[len(data):]) {
		t.Error("other content")
	}
	small := loopDevice(t, 1<<20)
	if _, err := a.RestoreFile(t.Context(), small, datastore.RestoreOptions{Overwrite: true}); err == nil || !bytes.Equal(contentOf(t, small), make([]byte, 1<<20)) {
		t.Errorf("a device that is too small: %v", err)
	}
}

func TestAMountedDeviceIsNotOverwritten(t *testing.T) {
	t.Parallel()
	a := imageArchive(t, image(t, "xs64:1:1M"))
	device := loopDevice(t, 16<<20)
	if out, err := exec.Command("mkfs.ext4", "-q", device).CombinedOutput(); err != nil {
		t.Skipf("no file system can be made here: %v: %s", err, out)
	}
	mounted := t.TempDir()
	if err := unix.Mount(device, mounted, "ext4", 0, ""); err != nil {
		t.Skipf("a device can't be mounted here: %v", err)
	}
	defer func() {
		if err := unix.Unmount(mounted, 0); err != nil {
			t.Error(err)
		}
	}()
	if _, err := a.RestoreFile(t.Context(), device, datastore.RestoreOptions{Overwrite: true}); !errors.Is(err, unix.EBUSY) {
		t.Errorf("%v", err)
	}
}

func TestAnArchiveIsReadAnywhere(t *testing.T) {
	t.Parallel()
	data := image(t, "xs64:1:5M+zero:4M+text:1:1M")
	a := imageArchive(t, data)
	if a.Size() != uint64(len(data)) || a.Name() != archive(t, testds.ImageName) {
		t.Errorf("%d bytes of %v", a.Size(), a.Name())
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		offset, length := random.IntN(len(data)), random.IntN(1<<20)
		got := make([]byte, length)
		n, err := a.ReadAt(got, int64(offset))
		want := data[offset:min(offset+length, len(data))]
		if !bytes.Equal(got[:n], want) || (n < length) != errors.Is(err, io.EOF) || n == length && err != nil {
			t.Fatalf("%d bytes from %d: %d, %v", length, offset, n, err)
		}
	}
	if n, err := a.ReadAt(make([]byte, 1), int64(len(data))); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: %d, %v", n, err)
	}
	if _, err := a.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("before the beginning")
	}
}
