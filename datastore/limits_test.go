package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// removeWithLimit removes a group with these limits of open files.
func removeWithLimit(ctx context.Context, args []string, pipe *helperproc.IO) error {
	var limit unix.Rlimit
	var err error
	if limit.Cur, err = strconv.ParseUint(args[2], 10, 64); err != nil {
		return err
	}
	if limit.Max, err = strconv.ParseUint(args[3], 10, 64); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	return operate(ctx, []string{args[0], "record", "remove-group", args[1], "0", ""}, pipe)
}

// manySnapshots makes a group of that many snapshots, from a time on, which are good enough to be removed.
func manySnapshots(t *testing.T, store *testds.Store, count int, from backupinfo.Time) {
	t.Helper()
	store.Damaged = true // but not to be restored
	model := store.Backup("vm/100", from, []byte("x"))
	manifest := filepath.Join(store.Dir, model.Dir(), "index.json.blob")
	for i := range count - 1 {
		dir := filepath.Join(store.Dir, backupinfo.Snapshot{Group: model.Group, Time: from + 1 + backupinfo.Time(i)}.Dir())
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(manifest, filepath.Join(dir, "index.json.blob")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAGroupOfManySnapshotsNeedsAsManyDescriptors(t *testing.T) {
	t.Parallel()
	const count = 5000
	store := testds.New(t)
	manySnapshots(t, store, count, first)
	refused := helperproc.Start(t, "remove with limit", store.Dir, "vm/100", "256", "256")
	if line := refused.Line(); !strings.Contains(line, "256") || !strings.Contains(line, "limit") {
		t.Errorf("with a hard limit that is too low: %s", line)
	}
	if entries, err := os.ReadDir(filepath.Join(store.Dir, "vm/100")); err != nil || len(entries) != count+1 {
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
	helperproc.Start(t, "remove with limit", store.Dir, "vm/100", "256", "20000").Expect("done")
	if _, err := os.Lstat(filepath.Join(store.Dir, "vm/100")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the group is still there")
	}
}

// smallDisk is a store on a file system of its own in memory.
func smallDisk(t *testing.T, options string) *testds.Store {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("a file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("something below is still in use: %v", err)
		}
	})
	return testds.At(t, dir)
}

func TestADiskThatIsFullLosesNothing(t *testing.T) {
	t.Parallel()
	for what, options := range map[string]string{"no room": "size=12m", "no inodes": "size=100m,nr_inodes=24"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			store := smallDisk(t, options)
			good := store.Backup("vm/100", first, image(t, "xs64:1:5M"))
			_, err := testds.Backup(t.Context(), store.Open(datastore.Options{}), store.Group("vm/100"), second, image(t, "xs64:2:90M"))
			if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), store.Dir) {
				t.Errorf("%v", err)
			}
			if got := store.Finished(); len(got) != 1 || got[0] != good {
				t.Errorf("%v", got)
			}
			if len(store.Snapshots()) != 1 {
				t.Error("the half-made snapshot is still there")
			}
			fillToTheBrim(t, store.Dir)
			if _, err := store.Open(datastore.Options{}).RemoveSnapshot(t.Context(), good, datastore.RemoveOptions{}); err != nil {
				t.Errorf("removing on a full disk: %v", err)
			}
			if got := store.Snapshots(); len(got) != 0 {
				t.Errorf("%v", got)
			}
		})
	}
}

// fillToTheBrim uses up all room and all inodes.
func fillToTheBrim(t *testing.T, dir string) {
	t.Helper()
	for i := 0; ; i++ {
		err := os.WriteFile(filepath.Join(dir, ".chunks", fmt.Sprint("filler", i)), make([]byte, 100_000), 0o644)
		if errors.Is(err, unix.ENOSPC) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
