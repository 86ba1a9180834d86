package datastore_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

const mountsFile = ".pbs-like-mounts"

// refusesUnmounted collects, and expects that nothing goes because of a directory.
func refusesUnmounted(t *testing.T, store *testds.Store, opts datastore.Options, name string) {
	t.Helper()
	before := chunkFiles(t, store)
	_, err := store.Open(opts).Collect(t.Context(), nothing)
	unmounted, ok := errors.AsType[*datastore.UnmountedError](err)
	if !ok || !slices.Equal(unmounted.Paths, []string{name}) || !errors.Is(err, datastore.ErrNotMounted) || !strings.Contains(err.Error(), name) {
		t.Errorf("%v", err)
	}
	if after := chunkFiles(t, store); !slices.Equal(before, after) {
		t.Errorf("%q, and before %q", after, before)
	}
}

func TestWhatTheTableOfFileSystemsHasBelowTheStoreHasToBeMounted(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"/dev/sdb1 STORE/vm/100 ext4 defaults 0 2":        "vm/100",
		"UUID=1 STORE/ns/with\\040space xfs noauto":       "ns/with space",
		"/dev/sdb1 STORE ext4":                            ".",
		"/dev/sdb1\tSTORE/.chunks\text4":                  ".chunks",
		"/dev/sdb1 STORE/a/../vm//x/ ext4":                "vm/x",
		"/dev/sdb1 LINK/vm/100 ext4":                      "vm/100",
		"#/dev/sdb1 STORE/vm ext4":                        "",
		"# /dev/sdb1 STORE/vm ext4":                       "",
		"/dev/sdb1 STOREs/vm ext4\nx\n\n/dev/sda1 / ext4": "",
		"/dev/sdb1 STORE/.hidden/x ext4":                  "",
		"/dev/sdb1 STORE/lost+found ext4":                 "",
		"/dev/sda2 none swap sw":                          "",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Backup("vm/100", first, image(t, "xs64:1:100"))
			putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
			link, fstab := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "fstab")
			if err := os.Symlink(store.Dir, link); err != nil {
				t.Fatal(err)
			}
			put(t, fstab, strings.NewReplacer("STORE", store.Dir, "LINK", link).Replace(line))
			opts := datastore.Options{Fstab: fstab}
			defer func(real string) { store.Dir = real }(store.Dir)
			store.Dir = link // either name counts
			if want != "" {
				refusesUnmounted(t, store, opts, want)
			}
			forget := nothing
			forget.ForgetMounts = []string{want}
			if report, err := store.Open(opts).Collect(t.Context(), forget); err != nil || report.RemovedChunks != 1 {
				t.Errorf("%v, %+v", err, report)
			}
		})
	}
}

func TestWhatWasMountedAtTheLastCollectionHasToBeMounted(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged, store.Leftovers = true, true // what was mounted is gone when the store is looked at
	group := filepath.Join(store.Dir, "vm", "100")
	if err := os.MkdirAll(group, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", group, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("a file system can't be mounted here: %v", err)
	}
	mounted := true
	t.Cleanup(func() {
		if mounted {
			_ = unix.Unmount(group, unix.MNT_DETACH)
		}
	})
	put(t, filepath.Join(group, "owner"), "root@pam\n")
	store.Backup("vm/100", first, image(t, "xs64:1:100"))
	collect(t, store, nothing)
	collect(t, store, nothing)
	if text, err := os.ReadFile(filepath.Join(store.Dir, mountsFile)); err != nil || string(text) != `["vm/100"]`+"\n" {
		t.Fatalf("%q, %v", text, err)
	}
	// It is unmounted in the middle of a collection: after the look at what is mounted.
	ds := store.Open(datastore.Options{Events: datastore.Events{Progress: func(p datastore.Progress) {
		if mounted && p.Operation == "survey" {
			mounted = unix.Unmount(group, unix.MNT_DETACH) != nil
		}
	}}})
	if _, err := ds.Collect(t.Context(), nothing); !errors.Is(err, datastore.ErrNotMounted) || mounted {
		t.Errorf("%v", err)
	}
	refusesUnmounted(t, store, datastore.Options{}, "vm/100")
	if findings, _ := check(t, store.Open(datastore.Options{}), datastore.CheckOptions{}); !slices.ContainsFunc(findings, func(f datastore.Finding) bool {
		return f.Path == "vm/100" && errors.Is(f.Err, datastore.ErrNotMounted)
	}) {
		t.Errorf("%+v", findings)
	}
	if err := os.Remove(group); err != nil { // a mount point that is gone is none
		t.Fatal(err)
	}
	refusesUnmounted(t, store, datastore.Options{}, "vm/100")
	forget := nothing
	forget.ForgetMounts = []string{"vm/100"}
	if report := collect(t, store, forget); report.RemovedChunks != 1 {
		t.Errorf("%+v", report)
	}
	collect(t, store, nothing) // it was forgotten
}

func TestAMemoryOfMountsThatCannotBeReadStopsACollection(t *testing.T) {
	t.Parallel()
	for what, make := range map[string]func(name string) error{
		"garbage":  func(name string) error { return os.WriteFile(name, []byte("garbage"), 0o644) },
		"empty":    func(name string) error { return os.WriteFile(name, nil, 0o644) },
		"outside":  func(name string) error { return os.WriteFile(name, []byte(`["../x"]`), 0o644) },
		"absolute": func(name string) error { return os.WriteFile(name, []byte(`["/etc"]`), 0o644) },
		"huge": func(name string) error {
			return os.WriteFile(name, []byte(`["`+strings.Repeat("x", 1<<20)+`"]`), 0o644)
		},
		"many": func(name string) error {
			return os.WriteFile(name, []byte(`["a"`+strings.Repeat(`,"a"`, 2000)+`]`), 0o644)
		},
		"a link":      func(name string) error { return os.Symlink("/dev/zero", name) },
		"a pipe":      func(name string) error { return unix.Mkfifo(name, 0o644) },
		"a directory": func(name string) error { return os.Mkdir(name, 0o755) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Leftovers = true
			putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
			if err := make(filepath.Join(store.Dir, mountsFile)); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Open(datastore.Options{}).Collect(t.Context(), nothing); err == nil || !strings.Contains(err.Error(), mountsFile) {
				t.Errorf("%v", err)
			}
			if len(chunkFiles(t, store)) != 1 {
				t.Error("a chunk is gone")
			}
		})
	}
}
