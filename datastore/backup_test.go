package datastore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/testds"
)

const day = 24 * 3600

// The times of the snapshots in these tests.
const (
	first  backupinfo.Time = 1767323045 // 2026-01-02T03:04:05Z
	second                 = first + day
	third                  = second + day
)

func archive(t testing.TB, name string) backupinfo.ArchiveName {
	t.Helper()
	a, err := backupinfo.ParseArchiveName(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWhatIsBackedUpRestoresByteForByte(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"one byte":                      "const:7:1",
		"all zeros":                     "zero:9M",
		"not a whole number of chunks":  "xs64:1:9M+zero:8M+text:9:300000",
		"exactly two chunks":            "text:3:8M",
		"zeros at both ends":            "zero:5M+xs64:4:100000+zero:5M",
		"one chunk and one byte of all": "rep:5:4096:4M+const:1:1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			data := image(t, content)
			ds := store.Open(datastore.Options{})
			w, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: first, Notes: "first line\nsecond line"})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			add := func(stats datastore.ArchiveStats, err error) {
				t.Helper()
				if err != nil || stats.Size != uint64(len(data)) || stats.Chunks != stats.ReusedChunks+stats.WrittenChunks {
					t.Fatalf("%+v, %v", stats, err)
				}
			}
			add(w.AddImage(t.Context(), archive(t, "a.img"), bytes.NewReader(data), int64(len(data))))
			add(w.AddImageStream(t.Context(), archive(t, "b.img"), bytes.NewReader(data)))
			add(w.AddStream(t.Context(), archive(t, "c.pxar"), bytes.NewReader(data)))
			add(w.AddBlob(t.Context(), archive(t, "d.conf"), bytes.NewReader(data)))
			info, err := w.Commit(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !info.Finished || info.Comment != "first line" || info.Owner != backupinfo.DefaultOwner || len(info.Files) != 5 || info.Err != nil {
				t.Errorf("%+v", info)
			}
			for _, name := range []string{"a.img", "b.img", "c.pxar", "d.conf"} {
				if got := store.Restore(w.Snapshot(), name); !bytes.Equal(got, data) {
					t.Errorf("%s: %d bytes come back of %d, or other ones", name, len(got), len(data))
				}
			}
		})
	}
}

func TestAnUnchangedImageIsReusedWhole(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	data := image(t, "xs64:1:9M+text:2:5M")
	store.Backup("vm/100", first, data)
	ds := store.Open(datastore.Options{})
	w, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: second})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if base, ok := w.Base(); !ok || base.Time != first {
		t.Errorf("base %v, %v", base, ok)
	}
	stats, err := w.AddImage(t.Context(), archive(t, testds.ImageName), bytes.NewReader(data), int64(len(data)))
	if err != nil || stats.ReusedChunks != 4 || stats.WrittenChunks != 0 || stats.WrittenBytes != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAMissingChunkOfTheBaseIsWrittenAgain(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	data := image(t, "xs64:1:9M")
	store.Backup("vm/100", first, data)
	chunks, err := filepath.Glob(filepath.Join(store.Dir, ".chunks/*/*"))
	if err != nil || len(chunks) != 3 {
		t.Fatal(chunks, err)
	}
	if err := os.Remove(chunks[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(chunks[1], 0); err != nil {
		t.Fatal(err)
	}
	snapshot := store.Backup("vm/100", second, data)
	if got := store.Restore(snapshot, testds.ImageName); !bytes.Equal(got, data) {
		t.Error("the second backup does not restore")
	}
}

func TestAChunkThatACrashLeftCutShortIsWrittenAgain(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	data := image(t, "text:1:9M")
	store.Backup("vm/100", first, data)
	chunks, err := filepath.Glob(filepath.Join(store.Dir, ".chunks/*/*"))
	if err != nil || len(chunks) != 3 {
		t.Fatal(chunks, err)
	}
	for _, chunk := range chunks {
		if err := os.Truncate(chunk, 1000); err != nil {
			t.Fatal(err)
		}
	}
	// Without a base nobody vouches for what lies in the store.
	snapshot := store.Backup("vm/200", first, data)
	if got := store.Restore(snapshot, testds.ImageName); !bytes.Equal(got, data) {
		t.Error("the second backup does not restore")
	}
}

func TestABackupIsRefusedThatIsNotTheNewestOrNotTheOwners(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", second, []byte("x"))
	ds := store.Open(datastore.Options{})
	for name, test := range map[string]struct {
		opts datastore.BackupOptions
		want error
	}{
		"older than the newest":  {datastore.BackupOptions{Time: first}, datastore.ErrOlder},
		"of the same time":       {datastore.BackupOptions{Time: second}, datastore.ErrExists},
		"by somebody else":       {datastore.BackupOptions{Time: third, Owner: "other@pam"}, datastore.ErrNotOwner},
		"with a base not there":  {datastore.BackupOptions{Time: third, Base: datastore.BaseChoice{Snapshot: &backupinfo.Snapshot{Group: store.Group("vm/100"), Time: first}}}, datastore.ErrNotFound},
		"into no such namespace": {datastore.BackupOptions{Time: third}, datastore.ErrNotFound},
	} {
		group := store.Group("vm/100")
		if strings.Contains(name, "namespace") {
			group.Namespace, _ = backupinfo.ParseNamespace("nope")
		}
		if _, err := ds.Backup(t.Context(), group, test.opts); !errors.Is(err, test.want) {
			t.Errorf("a backup %s: %v", name, err)
		}
	}
	if got := len(store.Snapshots()); got != 1 {
		t.Errorf("%d snapshots", got)
	}
}

func TestABackupThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	w, err := store.Open(datastore.Options{}).Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: first})
	if err != nil {
		t.Fatal(err)
	}
	if err := testds.Fill(t.Context(), w, image(t, "xs64:1:5M")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := w.Commit(t.Context()); err == nil {
		t.Error("a closed writer commits")
	}
	if entries, err := os.ReadDir(filepath.Join(store.Dir, "vm")); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestABackupEndsInAnErrorWhenItsBaseWasTakenAwayByHand(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	data := image(t, "xs64:1:5M")
	base := store.Backup("vm/100", first, data)
	w, err := store.Open(datastore.Options{}).Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: second})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := testds.Fill(t.Context(), w, data); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(store.Dir, base.Dir())); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err == nil {
		t.Error("the backup counts as done")
	}
	if got := store.Snapshots(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestTheLockedAreRefusedAndToldWhoHoldsThem(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	base := store.Backup("vm/100", first, []byte("x"))
	ds := store.Open(datastore.Options{})
	w, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: second})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, try := range map[string]func() error{
		"remove the base": func() error {
			_, err := ds.RemoveSnapshot(t.Context(), base, datastore.RemoveOptions{})
			return err
		},
		"remove the new snapshot": func() error {
			_, err := ds.RemoveSnapshot(t.Context(), w.Snapshot(), datastore.RemoveOptions{})
			return err
		},
		"remove the group": func() error {
			_, err := ds.RemoveGroup(t.Context(), store.Group("vm/100"), datastore.RemoveGroupOptions{})
			return err
		},
		"back up": func() error {
			_, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: third})
			return err
		},
	} {
		err := try()
		var locked *flock.LockedError
		if !errors.Is(err, flock.ErrLocked) || !errors.As(err, &locked) || len(locked.Holders) == 0 || locked.Holders[0].PID != os.Getpid() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := store.Snapshots(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
