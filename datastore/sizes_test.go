package datastore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func sizes(t *testing.T, store *testds.Store) datastore.SizeReport {
	t.Helper()
	report, err := store.Open(datastore.Options{}).Sizes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func sharingStore(t *testing.T) *testds.Store {
	t.Helper()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:4M+xs64:2:4M"))
	store.Backup("vm/100", second, image(t, "xs64:1:4M+xs64:3:4M+xs64:3:4M"))
	store.Backup("vm/200", first, image(t, "xs64:3:4M+xs64:4:1M"))
	return store
}

func TestSizesTellUniqueFromShared(t *testing.T) {
	t.Parallel()
	report := sizes(t, sharingStore(t))
	const chunk, part = 4<<20 + 12, 1<<20 + 12 // random data does not compress
	for i, want := range []datastore.Size{
		{Logical: 8 << 20, Chunks: 2, Stored: 2 * chunk, Unique: chunk},
		{Logical: 12 << 20, Chunks: 2, Stored: 2 * chunk, Unique: 0},
		{Logical: 5 << 20, Chunks: 2, Stored: chunk + part, Unique: part},
	} {
		checkSize(t, report.Snapshots[i].Snapshot.String(), report.Snapshots[i].Size, want)
	}
	checkSize(t, "vm/100", report.Groups[0].Size, datastore.Size{Logical: 20 << 20, Chunks: 3, Stored: 3 * chunk, Unique: 2 * chunk})
	checkSize(t, "vm/200", report.Groups[1].Size, datastore.Size{Logical: 5 << 20, Chunks: 2, Stored: chunk + part, Unique: part})
	checkSize(t, "all", report.Total, datastore.Size{Logical: 25 << 20, Chunks: 4, Stored: 3*chunk + part, Unique: 3*chunk + part})
	if report.References != 7 || len(report.Unread) != 0 || report.Groups[0].Snapshots != 2 {
		t.Errorf("%+v", report)
	}
}

func checkSize(t *testing.T, name string, got, want datastore.Size) {
	t.Helper()
	got.Logical &^= 0xfff // of small files
	if got.Files == 0 || got.Shared() != got.Stored-got.Unique || got.Freed() != got.Unique+got.Files {
		t.Errorf("%s: %+v", name, got)
	}
	got.Files = 0
	if got != want {
		t.Errorf("%s: %+v, want %+v", name, got, want)
	}
}

// TestWhatIsSaidToBeFreedIsFreed removes each snapshot, and each group, and collects.
func TestWhatIsSaidToBeFreedIsFreed(t *testing.T) {
	t.Parallel()
	for i := range 5 {
		store := sharingStore(t)
		ds := store.Open(datastore.Options{})
		before := sizes(t, store)
		var want datastore.Size
		var err error
		if i < 3 {
			want = before.Snapshots[i].Size
			_, err = ds.RemoveSnapshot(t.Context(), before.Snapshots[i].Snapshot, datastore.RemoveOptions{})
		} else {
			want = before.Groups[i-3].Size
			_, err = ds.RemoveGroup(t.Context(), before.Groups[i-3].Group, datastore.RemoveGroupOptions{})
		}
		noError(t, err)
		if report := collect(t, store, nothing); report.RemovedBytes != want.Unique {
			t.Errorf("%d: %d bytes were removed, %d said to be", i, report.RemovedBytes, want.Unique)
		}
		after := sizes(t, store).Total
		if got := before.Total.Stored + before.Total.Files - after.Stored - after.Files; got != want.Freed() {
			t.Errorf("%d: %d bytes were freed, %d said to be", i, got, want.Freed())
		}
	}
}

func TestSizesGoOnAfterWhatIsDamaged(t *testing.T) {
	t.Parallel()
	store := sharingStore(t)
	store.Damaged = true
	snapshot := backupinfo.Snapshot{Group: store.Group("vm/100"), Time: first}
	for _, name := range chunkFiles(t, store)[:1] {
		noError(t, os.Remove(filepath.Join(store.Dir, ".chunks", name[:4], name)))
	}
	put(t, filepath.Join(store.Dir, snapshot.Dir(), "disk.img.fidx"), "garbage")
	pipeAt(sound+"/pipe.fidx")(t, store.Dir)
	linkAt("vm/7")(t, store.Dir)
	report := sizes(t, store)
	if len(report.Snapshots) != 3 || report.Snapshots[0].Err == nil || report.Snapshots[1].Err != nil || len(report.Unread) != 3 {
		t.Errorf("%+v", report)
	}
	if report.Snapshots[2].Logical < 5<<20 {
		t.Errorf("%+v", report.Snapshots[2])
	}
}

func TestSizesOfTheOriginalsStore(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store")
	report := sizes(t, store)
	if report.Total.Chunks == 0 || report.Total.Missing != 0 || len(report.Unread) != 0 || report.Total.Stored != report.Total.Unique {
		t.Errorf("%+v", report.Total)
	}
	// Whatever nothing refers to is pending: the original counts it apart.
	if f := status(t, store).Collection.Figures; report.Total.Stored != f.DiskBytes || report.Total.Chunks != f.DiskChunks {
		t.Errorf("%+v, the original has %+v", report.Total, f)
	}
}
