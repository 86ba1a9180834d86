package mount_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/mount"
	"github.com/pbs-like/pbs-like/pxar"
)

// listed are the directories of snapshots in the list that the original program gave of its store.
func listed(t *testing.T, finished bool) (dirs []string) {
	t.Helper()
	text, err := os.ReadFile(testds.Testdata(t, "golden/expected/store.list.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Namespaces []struct {
			Groups []struct {
				Snapshots []struct {
					Path     string
					Finished bool
				}
			}
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, ns := range list.Namespaces {
		for _, g := range ns.Groups {
			for _, s := range g.Snapshots {
				if s.Finished == finished {
					dirs = append(dirs, s.Path)
				}
			}
		}
	}
	return dirs
}

func TestAStoreOfTheOriginalHasTheSnapshotsThatTheOriginalLists(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store")
	var told told
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Events: told.events()})
	for _, dir := range listed(t, true) {
		if len(names(t, filepath.Join(point, dir))) == 0 {
			t.Errorf("%s is empty", dir)
		}
		if !slices.Contains(names(t, filepath.Dir(filepath.Join(point, dir))), filepath.Base(dir)) {
			t.Errorf("%s is not listed", dir)
		}
	}
	unfinished := listed(t, false)
	if len(unfinished) == 0 {
		t.Fatal("the store has no unfinished snapshot")
	}
	for _, dir := range unfinished {
		if _, err := os.Stat(filepath.Join(point, dir)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s, which is unfinished: %v", dir, err)
		}
	}
	if told.count() == 0 {
		t.Error("nothing was said of what is not shown:", told.text())
	}
}

// TestEverythingInAStoreOfTheOriginalIsReadAsARestoreReadsIt compares each archive and each entry of each tree.
func TestEverythingInAStoreOfTheOriginalIsReadAsARestoreReadsIt(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store")
	ds := store.Open(datastore.Options{})
	point, _ := mounted(t, ds, mount.Options{})
	trees, files := 0, 0
	for _, snapshot := range store.Finished() {
		r, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range r.Files() {
			name, err := backupinfo.ParseFileName(file.Name)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(point, snapshot.Dir(), name.Display())
			if strings.HasSuffix(file.Name, ".pxar.didx") {
				trees += compareTree(t, path, r, name)
			} else {
				files += compareFile(t, path, r, name)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if trees < 2 || files < 20 {
		t.Errorf("only %d trees and %d files were compared", trees, files)
	}
}

func compareFile(t *testing.T, path string, r *datastore.SnapshotReader, name backupinfo.ArchiveName) int {
	t.Helper()
	got, gotErr := os.ReadFile(path)
	a, err := r.OpenArchive(t.Context(), name)
	if errors.Is(err, blob.ErrNeedKey) {
		if !isErrno(gotErr, unix.ENOKEY) {
			t.Errorf("%s without its key: %v", path, gotErr)
		}
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var want bytes.Buffer
	if _, err := a.CopyTo(t.Context(), &want, datastore.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || gotErr != nil || !bytes.Equal(got, want.Bytes()) || info.Size() != int64(want.Len()) {
		t.Errorf("%s: %d bytes, want %d; %v, %v", path, len(got), want.Len(), gotErr, err)
		return 0
	}
	if !info.ModTime().Equal(r.Snapshot().Time.Clock()) || info.Mode() != 0o400 {
		t.Errorf("%s: %v %v", path, info.ModTime(), info.Mode())
	}
	return 1
}

func compareTree(t *testing.T, path string, r *datastore.SnapshotReader, name backupinfo.ArchiveName) int {
	t.Helper()
	tree, err := r.OpenTree(t.Context(), name)
	if errors.Is(err, blob.ErrNeedKey) {
		if _, err := os.Stat(path); !isErrno(err, unix.ENOKEY) {
			t.Errorf("%s without its key: %v", path, err)
		}
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	compareEntries(t, path, tree.Archive)
	return 1
}

// compareEntries compares all entries of an archive with what is mounted.
func compareEntries(t *testing.T, path string, a *pxar.Archive) {
	t.Helper()
	root, err := a.Root()
	if err != nil {
		t.Fatal(err)
	}
	walk, err := a.Walk(root)
	if err != nil {
		t.Fatal(err)
	}
	var seen int
	for {
		e, err := walk.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		compareEntry(t, filepath.Join(path, e.Path), a, e)
		seen++
	}
	all := 0
	if err := filepath.WalkDir(path, func(string, os.DirEntry, error) error { all++; return nil }); err != nil {
		t.Error(err)
	}
	if all != seen {
		t.Errorf("%s has %d entries, and the archive %d", path, all, seen)
	}
}

func compareEntry(t *testing.T, path string, a *pxar.Archive, e *pxar.Entry) {
	t.Helper()
	file, err := a.Resolve(e)
	if err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	if st.Mode != uint32(file.Mode) || st.Uid != file.UID || st.Gid != file.GID || st.Mtim.Sec != file.Seconds || st.Mtim.Nsec != int64(file.Nanoseconds) {
		t.Errorf("%s: mode %o owner %d:%d time %d.%09d, want %o %d:%d %d.%09d", path, st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec,
			file.Mode, file.UID, file.GID, file.Seconds, file.Nanoseconds)
	}
	switch file.Kind {
	case pxar.File:
		content, err := a.Content(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) || st.Size != int64(len(want)) || st.Blocks == 0 && len(want) > 0 {
			t.Errorf("%s: %d bytes, want %d: %v", path, len(got), len(want), err)
		}
		if e.Kind == pxar.Hardlink && st.Nlink < 2 {
			t.Errorf("%s is a hard link, and has one name", path)
		}
	case pxar.Symlink:
		if got, err := os.Readlink(path); err != nil || got != file.Target {
			t.Errorf("%s leads to %q, want %q: %v", path, got, file.Target, err)
		}
	case pxar.Device:
		if st.Rdev != unix.Mkdev(uint32(file.Major), uint32(file.Minor)) {
			t.Errorf("%s is the device %x", path, st.Rdev)
		}
	}
	compareAttributes(t, path, file)
}

func compareAttributes(t *testing.T, path string, e *pxar.Entry) {
	t.Helper()
	want := map[string][]byte{}
	for _, x := range e.Xattrs {
		want[x.Name] = x.Value
	}
	if e.FCaps != nil {
		want["security.capability"] = e.FCaps
	}
	for name, value := range want {
		buf := make([]byte, 70<<10)
		n, err := unix.Lgetxattr(path, name, buf)
		if err != nil || !bytes.Equal(buf[:n], value) {
			t.Errorf("%s: attribute %q is %q, want %q: %v", path, name, buf[:max(n, 0)], value, err)
		}
	}
	buf := make([]byte, 70<<10)
	n, err := unix.Llistxattr(path, buf)
	if err != nil {
		t.Errorf("%s: list of attributes: %v", path, err)
		return
	}
	count := 0
	for name := range strings.SplitSeq(string(buf[:n]), "\x00") {
		if name != "" && !strings.HasPrefix(name, "system.posix_acl_") {
			count++
		}
	}
	if count != len(want) {
		t.Errorf("%s: attributes %q, want %d", path, buf[:n], len(want))
	}
}
