package datastore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// mountAt mounts a file system of its own at a directory.
func mountAt(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("a file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func TestEveryFileSystemThatWasWrittenToIsSyncedBeforeTheManifest(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"", ".chunks", "vm/100"} {
		t.Run("own file system: "+own, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Damaged = true // what was mounted is gone when the store is looked at
			if own != "" {
				mountAt(t, filepath.Join(store.Dir, own))
			}
			if own == "vm/100" {
				put(t, filepath.Join(store.Dir, "vm/100/owner"), "root@pam\n")
			}
			script := fsoptest.Record()
			if _, err := testds.Backup(t.Context(), store.OpenWith(script.Disk()), store.Group("vm/100"), first, image(t, "xs64:1:5M")); err != nil {
				t.Fatal(err)
			}
			var synced []string
			for _, change := range script.Changes() {
				if change.Op == fsop.OpSyncFS {
					synced = append(synced, strings.TrimPrefix(change.Path, store.Dir+"/"))
				}
				if strings.Contains(change.Path, "index.json") {
					break
				}
			}
			if !slices.ContainsFunc(synced, func(name string) bool {
				return strings.HasPrefix(name, store.Dir+"/"+own) || strings.HasPrefix(name, own)
			}) ||
				len(synced) != map[bool]int{true: 1, false: 2}[own == ""] {
				t.Errorf("synced before the manifest: %q", synced)
			}
		})
	}
}

// hanging is a source whose second Read does not return.
type hanging struct {
	reads   int
	entered chan struct{}
	release chan struct{}
}

func (h *hanging) Read(p []byte) (int, error) {
	h.reads++
	if h.reads > 1 {
		close(h.entered)
		<-h.release
	}
	for i := range p {
		p[i] = 0xee
	}
	return len(p), nil
}

func TestAfterAFailedArchiveNothingMoreIsStored(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	w, err := store.Open(datastore.Options{}).Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: first})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	source := &hanging{entered: make(chan struct{}), release: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-source.entered
		cancel()
	}()
	if _, err := w.AddStream(ctx, archive(t, "a.didx"), source); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := w.AddBlob(t.Context(), archive(t, "b.conf"), strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("another archive: %v", err)
	}
	close(source.release)
	if _, err := w.Commit(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	if got := store.Snapshots(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestTheLatestSnapshotIsNeverAnOlderOne(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	old := store.Backup("vm/100", first, []byte("old"))
	newest := store.Backup("vm/100", second, []byte("new"))
	ds := store.Open(datastore.Options{})
	if got, err := ds.Latest(t.Context(), old.Group); err != nil || got != newest {
		t.Errorf("%v, %v", got, err)
	}
	manifest := filepath.Join(store.Dir, newest.Dir(), "index.json.blob")
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(manifest, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := ds.Latest(t.Context(), old.Group); err == nil {
		t.Errorf("%v is taken for the latest", got)
	}
}

func TestARemovalThatIsNotKnownToBeOnDiskIsReported(t *testing.T) {
	t.Parallel()
	for script := range fsoptest.Failures(t, unix.EIO) {
		store := testds.New(t)
		store.Leftovers = true
		snapshot := store.Backup("vm/100", first, []byte("x"))
		store.Backup("vm/100", second, []byte("x"))
		report, err := store.OpenWith(script.Disk()).RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{})
		if gone := len(store.Snapshots()) == 1; gone != (len(report.Snapshots) == 1) && err != nil && !lastRename(script) {
			t.Errorf("%s: gone %v, reported %v, %v", script, gone, report.Snapshots, err)
		}
	}
}

// lastRename tells a rename that was done and said to have failed: nobody can know that.
func lastRename(script *fsoptest.Script) bool {
	changes := script.Changes()
	return len(changes) > 0 && changes[len(changes)-1].Op == fsop.OpRename
}

func TestBackupsWithinASecondGetTimesOfTheirOwn(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	for range 5 {
		store.Backup("vm/100", 0, []byte("x"))
	}
	if got := store.Finished(); len(got) != 5 {
		t.Errorf("%v", got)
	}
}

func TestWaitingForTheManifestHoldsNothing(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	snapshot := store.Backup("vm/100", first, []byte("x"))
	rewriting, err := flock.TryExclusive(flock.Ref{Name: filepath.Join(store.Dir, snapshot.Dir(), "index.json.blob")})
	if err != nil {
		t.Fatal(err)
	}
	waits := 0
	events := datastore.Events{Waiting: func(error) {
		waits++
		reader, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
		if err := errors.Join(err, reader.Close(), rewriting.Close()); err != nil {
			t.Error(err)
		}
	}}
	if _, err := store.Open(datastore.Options{Events: events}).RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{}); err != nil {
		t.Error(err)
	}
	if waits != 1 {
		t.Errorf("it waited %d times", waits)
	}
}

func TestARestoreIntoAPipeThatNobodyReadsCanBeCancelled(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	snapshot := store.Backup("vm/100", first, image(t, "xs64:1:9M"))
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
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := a.RestoreFile(ctx, fifo, datastore.RestoreOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no reader: %v", err)
	}
	read, write := io.Pipe()
	defer read.Close()
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := a.CopyTo(ctx, write, datastore.RestoreOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a reader that sleeps: %v", err)
	}
}

func TestWhatAnInterruptedInitLeftDoesNotStopTheNext(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(testds.TempDir(t), "disk")
	if err := os.MkdirAll(filepath.Join(dir, ".chunks.tmp_ABCDEF/0000"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := datastore.Create(t.Context(), dir, datastore.CreateOptions{OnlyHost: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, ".chunks.tmp_ABCDEF")); !errors.Is(err, os.ErrNotExist) {
		t.Error("it is still there")
	}
}

func TestAnEncryptedChunkUnderAPlainNameIsNotReused(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	data := image(t, "xs64:1:5M")
	store.Backup("vm/100", first, data)
	chunks, err := filepath.Glob(filepath.Join(store.Dir, ".chunks/*/*"))
	if err != nil || len(chunks) != 2 {
		t.Fatal(chunks, err)
	}
	for _, chunk := range chunks {
		stored := append([]byte{0x7b, 0x67, 0x85, 0xbe, 0x22, 0x2d, 0x4c, 0xf0, 0, 0, 0, 0}, make([]byte, 32)...)
		put(t, chunk, string(stored)) // an empty payload, whose CRC is 0
	}
	snapshot := store.Backup("ct/200", first, data)
	if got := store.Restore(snapshot, testds.ImageName); !bytes.Equal(got, data) {
		t.Error("it does not restore")
	}
}
