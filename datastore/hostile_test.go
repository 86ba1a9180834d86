package datastore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// plants are things that somebody puts where a file of a datastore is expected.
// None may be followed, waited for, or hide what is beside it.
var plants = map[string]func(t *testing.T, path string){
	"a symbolic link out of the store": func(t *testing.T, path string) { t.Helper(); symlink(t, "/etc/passwd", path) },
	"a dangling link":                  func(t *testing.T, path string) { t.Helper(); symlink(t, "nowhere", path) },
	"a link to a device":               func(t *testing.T, path string) { t.Helper(); symlink(t, "/dev/zero", path) },
	"a FIFO": func(t *testing.T, path string) {
		t.Helper()
		if err := unix.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
	},
	"a directory": func(t *testing.T, path string) {
		t.Helper()
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	},
	"a socket": func(t *testing.T, path string) {
		t.Helper()
		if err := unix.Mknod(path, unix.S_IFSOCK|0o644, 0); err != nil {
			t.Fatal(err)
		}
	},
	"random bytes": func(t *testing.T, path string) { t.Helper(); put(t, path, string(image(t, "xs64:9:5000"))) },
	"nothing":      func(t *testing.T, path string) { t.Helper(); put(t, path, "") },
	"a bomb": func(t *testing.T, path string) {
		t.Helper()
		encoder := blob.NewEncoder()
		defer encoder.Close()
		stored, err := encoder.Encode(nil, make([]byte, 100<<20))
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, string(stored))
	},
	"a huge hole": func(t *testing.T, path string) {
		t.Helper()
		put(t, path, "")
		if err := os.Truncate(path, 1<<40); err != nil {
			t.Fatal(err)
		}
	},
}

func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func TestAPlantedFileBreaksOneThingOnlyAndIsNeverFollowed(t *testing.T) {
	t.Parallel()
	for what, plant := range plants {
		for _, file := range []string{"disk.img.fidx", "vm.conf.blob", "index.json.blob", "../owner"} {
			t.Run(what+" as "+file, func(t *testing.T) {
				t.Parallel()
				store := testds.New(t)
				store.Damaged = true
				good := store.Backup("vm/100", first, image(t, "xs64:1:5M"))
				bad := store.Backup("vm/200", second, image(t, "xs64:2:5M"))
				path := filepath.Join(store.Dir, bad.Dir(), file)
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				plant(t, path)
				if got := store.Snapshots(); len(got) != 2 {
					t.Errorf("%d snapshots are listed", len(got))
				}
				if len(store.Restore(good, testds.ImageName)) != 5<<20 {
					t.Error("the good one does not restore")
				}
				refusesOrReadsWhole(t, store, bad, file)
				// What is broken can still be removed, and nothing else goes with it.
				if _, err := store.Open(datastore.Options{}).RemoveGroup(t.Context(), bad.Group, datastore.RemoveGroupOptions{Force: true}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func refusesOrReadsWhole(t *testing.T, store *testds.Store, snapshot backupinfo.Snapshot, planted string) {
	t.Helper()
	reader, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
	if err != nil {
		return
	}
	defer reader.Close()
	for _, name := range []string{"disk.img", "vm.conf"} {
		a := archive(t, name)
		opened, err := reader.OpenArchive(t.Context(), a)
		if err == nil {
			_, err = opened.CopyTo(t.Context(), io.Discard, datastore.RestoreOptions{})
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		}
		if (err == nil) == (a.File() == planted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASymbolicLinkInPlaceOfADirectoryIsReportedAndNotFollowed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".chunks", "vm", "vm/100", "vm/100/2026-01-02T03:04:05Z", "ns", "ns/a"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Damaged = true
			snapshot := store.Backup("vm/100", first, []byte("x"))
			if err := os.MkdirAll(filepath.Join(store.Dir, "ns/a"), 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(store.Dir, name)
			elsewhere := filepath.Join(testds.TempDir(t), "elsewhere")
			if err := os.Rename(path, elsewhere); err != nil {
				t.Fatal(err)
			}
			symlink(t, elsewhere, path)
			before := tree(t, elsewhere)
			for what, err := range everything(t.Context(), store.Dir, snapshot) {
				if err == nil && needs(what, name, snapshot) {
					t.Errorf("%s goes on", what)
				}
			}
			if after := tree(t, elsewhere); after != before {
				t.Errorf("behind the link something has changed:\n%s\n%s", before, after)
			}
			if err := os.RemoveAll(path); err != nil { // with its group it was unlinked
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(elsewhere, path); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// needs tells whether an operation has to go through a directory.
func needs(operation, dir string, snapshot backupinfo.Snapshot) bool {
	if dir == ".chunks" {
		return true
	}
	way := map[string]string{
		"back up": snapshot.Group.Dir(), "back up in a namespace": "ns/a/ct/1", "open": snapshot.Dir(),
		"remove snapshot": snapshot.Dir(), "remove group": snapshot.Group.Dir(),
	}[operation]
	return strings.HasPrefix(way+"/", dir+"/")
}

// everything tries each operation on a snapshot.
func everything(ctx context.Context, dir string, snapshot backupinfo.Snapshot) map[string]error {
	open, err := datastore.Open(dir, datastore.Options{OnlyHost: true})
	if err != nil {
		return map[string]error{"open": err, "back up in a namespace": err}
	}
	results := map[string]error{}
	_, results["back up"] = testds.Backup(ctx, open, snapshot.Group, third, []byte("y"))
	space, _ := backupinfo.ParseNamespace("a")
	_, results["back up in a namespace"] = testds.Backup(ctx, open, backupinfo.Group{Namespace: space, Type: backupinfo.CT, ID: "1"}, third, []byte("y"))
	reader, err := open.OpenSnapshot(ctx, snapshot, datastore.ReadOptions{})
	results["open"] = errors.Join(err, reader.Close())
	_, results["remove snapshot"] = open.RemoveSnapshot(ctx, snapshot, datastore.RemoveOptions{})
	_, results["remove group"] = open.RemoveGroup(ctx, snapshot.Group, datastore.RemoveGroupOptions{})
	return results
}

// tree lists what is below a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		names = append(names, strings.TrimPrefix(path, dir)+" "+entry.Type().String())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

func TestAManifestCannotLeadOutOfItsSnapshot(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../../../etc/passwd.blob", "/etc/passwd.blob", "..", "a/b.blob", "x\x00.blob", ".hidden.blob"} {
		store := testds.New(t)
		store.Damaged = true
		snapshot := store.Backup("vm/100", first, []byte("x"))
		rewriteManifest(t, store, snapshot, func(json []byte) []byte {
			quoted, _ := backupinfo.CanonicalJSON([]byte(`"` + strings.ReplaceAll(name, "\x00", `\u0000`) + `"`))
			return bytes.Replace(json, []byte(`"vm.conf.blob"`), quoted, 1)
		})
		list := store.Snapshots()
		if len(list) != 1 || list[0].Err == nil || !errors.Is(list[0].Err, datastore.ErrCorrupt) {
			t.Errorf("%q: %+v", name, list)
		}
		if _, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{}); !errors.Is(err, datastore.ErrCorrupt) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func rewriteManifest(t *testing.T, store *testds.Store, snapshot backupinfo.Snapshot, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(store.Dir, snapshot.Dir(), "index.json.blob")
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder, encoder := blob.NewDecoder(), blob.NewEncoder()
	defer decoder.Close()
	defer encoder.Close()
	json, err := decoder.Decode(nil, stored, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := encoder.Encode(nil, change(json))
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, string(changed))
}

func TestAHostileIndexIsRefusedWithoutMuchMemory(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(index []byte){
		"a chunk size of 0":              func(index []byte) { binary.LittleEndian.PutUint64(index[72:], 0) },
		"a chunk size of 2^63":           func(index []byte) { binary.LittleEndian.PutUint64(index[72:], 1<<63) },
		"a size of 2^64-1":               func(index []byte) { binary.LittleEndian.PutUint64(index[64:], 1<<64-1) },
		"another size":                   func(index []byte) { binary.LittleEndian.PutUint64(index[64:], 5<<20-1) },
		"another digest":                 func(index []byte) { index[4096] ^= 1 },
		"no magic":                       func(index []byte) { index[0] = 0 },
		"a dynamic index under its name": func(index []byte) { copy(index, "\x1c\x91\x4e\xa5\x19\xba\xb3\xcd") },
	} {
		store := testds.New(t)
		store.Damaged = true
		snapshot := store.Backup("vm/100", first, image(t, "xs64:1:5M"))
		path := filepath.Join(store.Dir, snapshot.Dir(), "disk.img.fidx")
		index, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		change(index)
		put(t, path, string(index))
		if _, err := restoreSum(t, store.Open(datastore.Options{}), "", snapshot.String(), "disk.img.fidx", nil); !errors.Is(err, datastore.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
