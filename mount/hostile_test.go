package mount_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/mount"
	"github.com/pbs-like/pbs-like/pxar"
)

func openBytes(t testing.TB, archive []byte) *pxar.Archive {
	t.Helper()
	a, err := pxar.Open(bytes.NewReader(archive), int64(len(archive)), pxar.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTreesOfTheOriginalAreShownWithAllTheirMetadata mounts what the original made of all kinds of files.
func TestTreesOfTheOriginalAreShownWithAllTheirMetadata(t *testing.T) {
	t.Parallel()
	archives := map[string][]byte{}
	for _, name := range []string{"big", "dirs", "empty", "exclude", "flags", "hardlinks", "meta", "names", "types"} {
		archives[name+".pxar"] = goldenfile.Read(t, "pxar", "v1/"+name+".pxar.zst")
	}
	store := testds.New(t)
	snapshot := streams(t, store, archives)
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Snapshot: &snapshot})
	for name, data := range archives {
		compareEntries(t, filepath.Join(point, name), openBytes(t, data))
	}
}

func TestAccessListsAreInTheFormOfTheKernel(t *testing.T) {
	t.Parallel()
	needProgram(t, "getfacl")
	store := testds.New(t)
	var archive bytes.Buffer
	group, root := uint64(5), pxar.Metadata{Stat: pxar.Stat{Mode: 0o40755}}
	w, err := pxar.NewWriter(&archive, &root, pxar.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := &pxar.Entry{Kind: pxar.Directory, Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: 0o40770}, ACL: pxar.ACL{
		Users: []pxar.ACLEntry{{ID: 1001, Perm: 6}}, Groups: []pxar.ACLEntry{{ID: 1002, Perm: 4}}, GroupObj: &group,
		Default: &pxar.ACLDefault{UserObj: 7, GroupObj: 5, Other: 0, Mask: pxar.NoPerm},
	}}}
	if _, err := w.Add("dir", dir, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Leave(), w.Close()); err != nil {
		t.Fatal(err)
	}
	snapshot := streams(t, store, map[string][]byte{"root.pxar": archive.Bytes()})
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Snapshot: &snapshot, Archive: archiveName(t, "root.pxar")})
	const want = "user::rwx\nuser:1001:rw-\ngroup::r-x\ngroup:1002:r--\nmask::rwx\nother::---\ndefault:user::rwx\ndefault:group::r-x\ndefault:other::---\n\n"
	if got := run(t, "getfacl", "--omit-header", "--absolute-names", "--numeric", filepath.Join(point, "dir")); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestNoMalformedArchiveStopsAMount walks through each of them, and reads all that can be read.
func TestNoMalformedArchiveStopsAMount(t *testing.T) {
	t.Parallel()
	archives := map[string][]byte{}
	for name, data := range goldenfile.MalformedTrees(t) {
		if name = strings.ReplaceAll(name, "+", "-"); strings.HasSuffix(name, "pxar") && len(data) > 0 {
			archives[name] = data
		}
	}
	store := testds.New(t)
	snapshot := streams(t, store, archives)
	var told told
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Snapshot: &snapshot, Events: told.events()})
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	entries := 0
	for _, name := range names(t, point) {
		_ = filepath.WalkDir(filepath.Join(point, name), func(path string, d fs.DirEntry, err error) error {
			if entries++; ctx.Err() != nil || entries > 100_000 {
				t.Fatalf("no end of %s", path)
			}
			if err == nil && d.Type().IsRegular() {
				compareTypes(t, path)
			}
			return nil
		})
	}
	if len(archives) < 30 || entries < len(archives) {
		t.Errorf("%d archives with %d entries", len(archives), entries)
	}
}

// compareTypes reads a file that is listed as regular, if it is one: what is opened must not be anything else.
func compareTypes(t *testing.T, path string) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	if !info.Mode().IsRegular() {
		t.Errorf("%s is listed as a file and is %v", path, info.Mode())
		return
	}
	_, _ = os.ReadFile(path)
}

// TestNamesThatCanNotBeAreHiddenAndCounted has a name twice, and one with a NUL.
func TestNamesThatCanNotBeAreHiddenAndCounted(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	root := pxar.Metadata{Stat: pxar.Stat{Mode: 0o40755}}
	w, err := pxar.NewWriter(&archive, &root, pxar.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"aNUL", "double", "doublf", "good", "slash"} {
		content := fmt.Sprint(i)
		e := &pxar.Entry{Kind: pxar.File, Size: uint64(len(content)), Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: 0o100644}}}
		if _, err := w.Add(name, e, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	hostile := archive.Bytes()
	for from, to := range map[string]string{"aNUL": "a\x00UL", "doublf": "double", "slash": "sl/sh"} {
		hostile = bytes.Replace(hostile, []byte(from), []byte(to), 1)
	}
	store := testds.New(t)
	snapshot := streams(t, store, map[string][]byte{"root.pxar": hostile})
	var told told
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Snapshot: &snapshot, Archive: archiveName(t, "root.pxar"), Events: told.events()})
	if got := strings.Join(names(t, point), " "); got != "double good" {
		t.Errorf("shown are %q", got)
	}
	if told.count() != 3 {
		t.Errorf("%d are hidden: %s", told.count(), told.text())
	}
	if got, err := os.ReadFile(filepath.Join(point, "double")); err != nil || string(got) != "1" {
		t.Errorf("%q, %v", got, err)
	}
}

// largeDirectory is an archive of empty files with numbers for names.
func largeDirectory(t testing.TB, count int) []byte {
	t.Helper()
	var archive bytes.Buffer
	root := pxar.Metadata{Stat: pxar.Stat{Mode: 0o40755}}
	w, err := pxar.NewWriter(&archive, &root, pxar.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		e := &pxar.Entry{Kind: pxar.File, Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: 0o100644}}}
		if _, err := w.Add(fmt.Sprintf("%06d", i), e, strings.NewReader("")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// TestALargeDirectoryIsListedFromAnyPlace has 100,000 entries.
func TestALargeDirectoryIsListedFromAnyPlace(t *testing.T) {
	t.Parallel()
	const count = 100_000
	store := testds.New(t)
	snapshot := streams(t, store, map[string][]byte{"root.pxar": largeDirectory(t, count)})
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Snapshot: &snapshot, Archive: archiveName(t, "root.pxar")})
	f, err := os.Open(point)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if list, err := f.Readdirnames(-1); err != nil || len(list) != count || list[count-1] != "099999" {
		t.Fatalf("%d names, %v", len(list), err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if list, err := f.Readdirnames(10); err != nil || list[9] != "000009" {
		t.Error(list, err)
	}
	if _, err := os.Stat(filepath.Join(point, "077777")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(point, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestDamageIsAnErrorAndNothingElseIs takes a chunk away, and damages another one.
func TestDamageIsAnErrorAndNothingElseIs(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	image := make([]byte, 12<<20)
	for i := range image {
		image[i] = byte(i >> 20 * 7)
	}
	snapshot := store.Backup("vm/100", older, image)
	damage(t, store, snapshot, 0, func(path string) error { return os.Remove(path) })
	damage(t, store, snapshot, 1, func(path string) error {
		data, err := os.ReadFile(path)
		data[len(data)-1] ^= 1
		return errors.Join(err, os.WriteFile(path, data, 0o600))
	})
	var told told
	point, _ := mounted(t, store.Open(datastore.Options{}), mount.Options{Events: told.events()})
	f, err := os.Open(imageOf(point, snapshot))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 4<<20)
	for chunk, want := range []bool{true, true, false} {
		n, err := f.ReadAt(buf, int64(chunk)*4<<20)
		if failed := err != nil; failed != want || !failed && !bytes.Equal(buf, image[chunk*4<<20:]) {
			t.Errorf("chunk %d: %d bytes, %v", chunk, n, err)
		}
	}
	if !strings.Contains(told.text(), "missing") || !strings.Contains(told.text(), "bytes 4194304 to 8388608") {
		t.Error(told.text())
	}
}

// damage finds the file of a chunk of the image.
func damage(t *testing.T, store *testds.Store, snapshot backupinfo.Snapshot, number int, do func(path string) error) {
	t.Helper()
	ds := store.Open(datastore.Options{})
	r, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, err := r.OpenArchive(t.Context(), archiveName(t, testds.ImageName))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c, err := a.ChunkAt(uint64(number) * 4 << 20)
	if err != nil {
		t.Fatal(err)
	}
	name := c.Digest.String()
	if err := do(filepath.Join(store.Dir, ".chunks", name[:4], name)); err != nil {
		t.Fatal(err)
	}
}
