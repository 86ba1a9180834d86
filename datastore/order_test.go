package datastore_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// position finds the first change of a kind from a place on, by the end of its path.
func position(t *testing.T, changes []fsop.Change, from int, op fsop.Op, what string) int {
	t.Helper()
	for i, change := range changes[from:] {
		if change.Op == op && (strings.Contains(change.Path, what) || strings.HasSuffix(change.To, what)) {
			return from + i
		}
	}
	t.Fatalf("no %s of %q after change %d in %v", op, what, from, changes)
	return 0
}

// TestABackupReachesTheDiskInTheRightOrder looks at the order in which a crash
// may find things: what is referred to before what refers to it.
func TestABackupReachesTheDiskInTheRightOrder(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	script := fsoptest.Record()
	if _, err := testds.Backup(t.Context(), store.OpenWith(script.Disk()), store.Group("vm/100"), first, image(t, "xs64:1:5M")); err != nil {
		t.Fatal(err)
	}
	changes, at := script.Changes(), 0
	for _, step := range []struct {
		op   fsop.Op
		what string
	}{
		{fsop.OpRename, "owner"},
		{fsop.OpRename, "vm/100"},
		{fsop.OpCreate, ".pbs-like-writer"},
		{fsop.OpRename, first.String()},
		{fsop.OpRename, "disk.img.fidx"},
		{fsop.OpRename, "vm.conf.blob"},
		{fsop.OpSyncFS, store.Dir},
		{fsop.OpSync, "index.json.tmp_"},
		{fsop.OpRename, "index.json.blob"},
		{fsop.OpSyncDir, first.String()},
		{fsop.OpRemove, ".pbs-like-writer"},
	} {
		at = position(t, changes, at, step.op, step.what) + 1
	}
	synced := position(t, changes, 0, fsop.OpSyncFS, store.Dir)
	for i, change := range changes {
		if strings.Contains(change.Path, ".chunks/") && i > synced {
			t.Errorf("after the sync: %s", change)
		}
	}
}

func TestARemovalIsOnDiskBeforeAnythingIsUnlinked(t *testing.T) {
	t.Parallel()
	for _, remove := range []operation{
		{name: "remove-snapshot", object: "vm/100/" + first.String()},
		{name: "remove-group", object: "vm/100"},
	} {
		store := testds.New(t)
		store.Backup("vm/100", first, []byte("x"))
		store.Backup("vm/100", second, []byte("x"))
		script := fsoptest.Record()
		if err := remove.run(t.Context(), store.Dir, script.Disk(), nil); err != nil {
			t.Fatal(err)
		}
		changes := script.Changes()
		renamed := position(t, changes, 0, fsop.OpRename, "")
		one := position(t, changes, renamed, fsop.OpSyncDir, "vm")
		other := position(t, changes, renamed, fsop.OpSyncDir, ".pbs-like-leftover")
		if unlinked := position(t, changes, 0, fsop.OpRemove, ""); unlinked < max(one, other) {
			t.Errorf("%s: unlinked before both directories were synced: %v", remove.name, changes)
		}
	}
}

func TestWhatAWriterPutsDownIsWhatTheFormatSays(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	data := image(t, "xs64:1:4M+xs64:1:4M+zero:4M")
	snapshot := store.Backup("vm/100", first, data)
	reader, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var stored int64
	chunks, err := filepath.Glob(filepath.Join(store.Dir, ".chunks/*/*"))
	if err != nil || len(chunks) != 2 {
		t.Fatal(chunks, err)
	}
	for _, chunk := range chunks {
		info, err := os.Stat(chunk)
		if err != nil {
			t.Fatal(err)
		}
		stored += info.Size()
	}
	want := fmt.Sprintf(`{"compressed_size":%d,"count":3,"duplicates":1,"size":%d}`, stored, len(data))
	if got, err := backupinfo.CanonicalJSON(reader.Manifest().Unprotected("chunk_upload_stats")); err != nil || string(got) != want {
		t.Errorf("chunk_upload_stats %s, not %s, %v", got, want, err)
	}
	f, err := os.Open(filepath.Join(store.Dir, snapshot.Dir(), "disk.img.fidx"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, err := index.Open(f, 4096+3*32, index.Fixed)
	if err != nil {
		t.Fatal(err)
	}
	uuid := x.UUID()
	if x.Created() < int64(first) || uuid[6]>>4 != 4 || uuid[8]>>6 != 2 {
		t.Errorf("created %d, uuid %x", x.Created(), uuid)
	}
}

func TestEveryHolderOfAGroupIsNamed(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	for _, at := range []backupinfo.Time{first, second} {
		reader, err := ds.OpenSnapshot(t.Context(), store.Backup("vm/100", at, []byte("x")), datastore.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
	}
	_, err := ds.RemoveGroup(t.Context(), store.Group("vm/100"), datastore.RemoveGroupOptions{})
	if err == nil || !strings.Contains(err.Error(), first.String()) || !strings.Contains(err.Error(), second.String()) {
		t.Errorf("%v", err)
	}
}

func TestAProtectionThatComesWhileTheRemovalWaitsCounts(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	snapshot := store.Backup("vm/100", first, []byte("x"))
	reader, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events := datastore.Events{Waiting: func(error) {
		put(t, filepath.Join(store.Dir, snapshot.Dir(), ".protected"), "")
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}}
	ds := store.Open(datastore.Options{LockWait: 1 << 40, Events: events})
	if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); !errors.Is(err, datastore.ErrProtected) {
		t.Errorf("%v", err)
	}
}

func TestALeftoverOfALivingProcessIsNotSwept(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Leftovers = true
	snapshot := store.Backup("vm/100", first, []byte("x"))
	leftover := filepath.Join(store.Dir, ".pbs-like-leftover/.pbs-like-leftover-LIVING-1")
	if err := os.MkdirAll(leftover, 0o755); err != nil {
		t.Fatal(err)
	}
	guard, err := flock.TryExclusive(flock.Ref{Name: leftover})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	if _, err := store.Open(datastore.Options{}).RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(leftover); err != nil {
		t.Error(err)
	}
}

func TestAnUnfinishedSnapshotStaysWhileItsGroupIsLocked(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged, store.Leftovers = true, true
	store.Backup("vm/100", first, []byte("x"))
	snapshot := unfinished(t, store, second, time.Now())
	put(t, filepath.Join(store.Dir, snapshot.Dir(), ".pbs-like-writer"), "{}") // ours: the locks decide alone
	guard, err := flock.TryExclusive(flock.Ref{Name: filepath.Join(store.Dir, "vm/100")})
	if err != nil {
		t.Fatal(err)
	}
	ds := store.Open(datastore.Options{})
	if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); !errors.Is(err, flock.ErrLocked) {
		t.Errorf("%v", err)
	}
	if err := guard.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); err != nil {
		t.Error(err)
	}
}

func TestASnapshotWhoseVerificationFailedIsNoBase(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	good := store.Backup("vm/100", first, []byte("x"))
	bad := store.Backup("vm/100", second, []byte("y"))
	rewriteManifest(t, store, bad, func(json []byte) []byte {
		manifest, err := backupinfo.ParseManifest(json)
		if err != nil {
			t.Fatal(err)
		}
		upid, err := backupinfo.ParseUPID("UPID:golden:00000A1B:0001E240:00000002:65920081:verify:golden:root@pam:")
		if err != nil {
			t.Fatal(err)
		}
		if err := manifest.SetVerifyState(backupinfo.VerifyState{State: backupinfo.VerifyFailed, UPID: upid}); err != nil {
			t.Fatal(err)
		}
		text, err := manifest.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return text
	})
	w, err := store.Open(datastore.Options{}).Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: third})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if base, ok := w.Base(); !ok || base != good {
		t.Errorf("base %v, %v", base, ok)
	}
}

func TestAStoreIsNotMadeInAnotherBehindABindMount(t *testing.T) {
	t.Parallel()
	outer := testds.New(t)
	for _, dir := range []string{"inner", "view"} {
		if err := os.Mkdir(filepath.Join(outer.Dir, "..", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	inner, view := filepath.Join(outer.Dir, "inner"), filepath.Join(outer.Dir, "../view")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(inner, view, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("a directory can't be mounted here: %v", err)
	}
	defer func() {
		if err := unix.Unmount(view, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	if err := datastore.Create(t.Context(), filepath.Clean(view), datastore.CreateOptions{OnlyHost: true}); err == nil || !strings.Contains(err.Error(), "inside the datastore") {
		t.Errorf("%v", err)
	}
}

func TestAnotherUserCannotChangeAStore(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	store := testds.New(t)
	snapshot := store.Backup("vm/100", first, []byte("x"))
	if err := os.Chmod(filepath.Dir(store.Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	o := operation{name: "remove-snapshot", object: snapshot.String()}
	p := helperproc.StartWith(t, helperproc.Options{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}},
		"operate", store.Dir, "record", o.name, o.object, "0", "")
	if line := p.Line(); !strings.Contains(line, "belongs to user id 0") {
		t.Error(line)
	}
}

func TestWhatLooksLikeASnapshotAndIsNoneKeepsTheGroup(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Backup("vm/100", first, []byte("x"))
	odd := filepath.Join(store.Dir, "vm/100/2026-02-30T00:00:00Z")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	ds := store.Open(datastore.Options{})
	if _, err := ds.RemoveGroup(t.Context(), store.Group("vm/100"), datastore.RemoveGroupOptions{}); err == nil || !strings.Contains(err.Error(), "2026-02-30") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(odd); err != nil {
		t.Error(err)
	}
	var broken int
	for _, err := range ds.Snapshots(t.Context(), store.Group("vm/100")) {
		if err != nil {
			broken++
		}
	}
	if broken != 1 {
		t.Errorf("%d broken entries are listed", broken)
	}
	if err := os.Remove(odd); err != nil {
		t.Fatal(err)
	}
}

func TestAnIndexOfNothingIsNeverWritten(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	for _, add := range []func(w *datastore.SnapshotWriter) error{
		func(w *datastore.SnapshotWriter) error {
			_, err := w.AddImage(t.Context(), archive(t, "a.img"), strings.NewReader(""), 0)
			return err
		},
		func(w *datastore.SnapshotWriter) error {
			_, err := w.AddStream(t.Context(), archive(t, "a.didx"), strings.NewReader(""))
			return err
		},
	} {
		w, err := store.Open(datastore.Options{}).Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: first})
		if err != nil {
			t.Fatal(err)
		}
		if err := add(w); err == nil || !strings.Contains(err.Error(), "no data") {
			t.Errorf("%v", err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNothingIsUnlinkedWhileItIsOpen because over NFS such a file stays, under another
// name, until it is closed, and keeps the directory that it is in.
func TestNothingIsUnlinkedWhileItIsOpen(t *testing.T) {
	t.Parallel()
	for name, o := range starting {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := matrixStore(t)
			if err := o.run(t.Context(), store.Dir, unlinkingClosed(store), nil); err != nil && !isMissing(err) {
				t.Fatal(err)
			}
		})
	}
	t.Run("give a backup up", func(t *testing.T) {
		t.Parallel()
		store := testds.New(t)
		w, err := store.OpenWith(unlinkingClosed(store)).Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{})
		if err != nil {
			t.Fatal(err)
		}
		broken := io.MultiReader(strings.NewReader("x"), iotest.ErrReader(unix.EIO))
		if _, err := w.AddStream(t.Context(), archive(t, "x.pxar"), broken); !errors.Is(err, unix.EIO) {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// unlinkingClosed is a disk on which no file goes that this process has open.
func unlinkingClosed(store *testds.Store) *fsop.Disk {
	return &fsop.Disk{Before: func(change fsop.Change) error {
		if change.Op == fsop.OpRemove && slices.Contains(store.Descriptors(), change.Path) {
			store.T.Errorf("%s is open", change.Path)
		}
		return nil
	}}
}
