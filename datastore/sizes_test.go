package datastore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/index"
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

// endingAt is a dynamic index of one entry, which ends where nothing can.
func endingAt(end uint64) string {
	entry := append(binary.LittleEndian.AppendUint64(nil, end), make([]byte, 32)...)
	var entries bytes.Buffer
	header, _, _ := index.NewDynamicWriter(&entries).Finish([16]byte{1}, 0) // its checksum is wrong, which only a verification reads
	return string(header) + string(entry)
}

func TestSumsOfSizesStopAtTheLargestNumber(t *testing.T) {
	t.Parallel()
	store := sharingStore(t)
	store.Damaged = true
	snapshot := backupinfo.Snapshot{Group: store.Group("vm/200"), Time: first}
	put(t, filepath.Join(store.Dir, snapshot.Dir(), "huge.pxar.didx"), endingAt(math.MaxUint64))
	report := sizes(t, store)
	for what, size := range map[string]uint64{
		"a snapshot": report.Snapshots[2].Logical, "a group": report.Groups[1].Logical, "all": report.Total.Logical,
		"what is freed": datastore.Size{Unique: math.MaxUint64 - 1, Files: 2}.Freed(),
	} {
		if size != math.MaxUint64 {
			t.Errorf("%s: %d", what, size)
		}
	}
	text := bytes.Replace(manifestText(t, store, snapshot), []byte(`"size": 5242880`), []byte(`"size": 18446744073709551615`), 1)
	putManifest(t, store, snapshot, text)
	info, err := store.Open(datastore.Options{}).Snapshot(t.Context(), snapshot)
	if err != nil || info.Size != math.MaxUint64 {
		t.Errorf("the snapshot's manifest: %d, %v\n%s", info.Size, err, text)
	}
}

func TestACollectionsSumStopsAtTheLargestNumber(t *testing.T) {
	t.Parallel()
	store := sharingStore(t)
	store.Damaged = true
	put(t, filepath.Join(store.Dir, "vm/200", first.String(), "huge.pxar.didx"), endingAt(math.MaxUint64))
	report, err := store.Open(datastore.Options{}).Collect(t.Context(), datastore.CollectOptions{DryRun: true})
	if report.IndexBytes != math.MaxUint64 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestAnIndexThatCannotBeOpenedIsNamed has entries that refer to chunks, which count.
func TestAnIndexThatCannotBeOpenedIsNamed(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	snapshot := store.Backup("vm/100", first, image(t, "xs64:1:4M"))
	name := filepath.Join(snapshot.Dir(), "disk.img.fidx")
	stored := readFile(t, filepath.Join(store.Dir, name))
	binary.LittleEndian.PutUint64(stored[64:], 1<<50) // the size of the image
	put(t, filepath.Join(store.Dir, name), string(stored))
	report := sizes(t, store)
	if len(report.Unread) != 1 || report.Unread[0].Path != name || !errors.Is(report.Unread[0], index.ErrCorrupt) || report.Snapshots[0].Err == nil {
		t.Errorf("%+v", report.Unread)
	}
	if size := report.Snapshots[0]; size.Chunks != 1 || size.Logical >= 4<<20 {
		t.Errorf("%+v", size)
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
