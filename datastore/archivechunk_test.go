package datastore_test

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func TestChunksOfAnArchiveAreTheArchive(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	image := append(bytes.Repeat([]byte("some data, some more data"), 300_000), make([]byte, 9<<20)...)
	snapshot := store.Backup("vm/100", 1_700_000_000, image)
	r, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, err := r.OpenArchive(t.Context(), archiveName(t, testds.ImageName))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var all sync.WaitGroup
	got := make([]byte, len(image))
	for at := uint64(0); ; {
		c, err := a.ChunkAt(at)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || c.Start != at {
			t.Fatalf("chunk at %d: %+v, %v", at, c, err)
		}
		all.Go(func() {
			data, err := a.LoadChunk(c)
			if err != nil || uint64(copy(got[c.Start:], data)) != c.End-c.Start {
				t.Errorf("%+v: %d bytes, %v", c, len(data), err)
			}
		})
		at = c.End
	}
	all.Wait()
	if !bytes.Equal(got, image) {
		t.Error("the chunks are not the image")
	}
	blob, err := r.OpenArchive(t.Context(), archiveName(t, testds.BlobName))
	if err != nil {
		t.Fatal(err)
	}
	defer blob.Close()
	if _, err := blob.ChunkAt(0); !errors.Is(err, datastore.ErrNotFound) {
		t.Error("chunk of a blob:", err)
	}
}

func TestAReaderLearnsThatItsSnapshotWasRemovedAllTheSame(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	snapshot := store.Backup("vm/100", 1_700_000_000, []byte("image"))
	store.Backup("vm/100", 1_700_000_001, []byte("image"))
	r, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); !errors.Is(err, flock.ErrChanged) {
		t.Error("after a removal:", err)
	}
	if _, err := testds.Backup(t.Context(), ds, store.Group("vm/100"), backupinfo.Time(1_700_000_000), []byte("other")); err == nil {
		if err := r.Check(); !errors.Is(err, flock.ErrChanged) {
			t.Error("after another one came:", err)
		}
	}
	select {
	case <-r.Lost():
		t.Error("a lock is said to be lost")
	default:
	}
}
