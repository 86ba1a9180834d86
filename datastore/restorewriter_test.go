package datastore_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// slowWriter takes its time, in which a reader finds the next chunk bad.
type slowWriter struct{ busy, calls atomic.Int32 }

func (w *slowWriter) Write(p []byte) (int, error) {
	w.busy.Add(1)
	defer w.busy.Add(-1)
	w.calls.Add(1)
	time.Sleep(100 * time.Millisecond)
	return len(p), nil
}

func TestAWriterIsAtRestWhenACopyHasFailed(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	data := image(t, "xs64:1:4M+xs64:2:4M+xs64:3:4M")
	snapshot := store.Backup("vm/100", first, data)
	damageChunk(t, store, data[4<<20:8<<20])
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
	w := &slowWriter{}
	_, err = a.CopyTo(t.Context(), w, datastore.RestoreOptions{})
	if busy := w.busy.Load(); busy != 0 || !errors.Is(err, datastore.ErrCorrupt) {
		t.Errorf("%d Writes are under way after %d; %v", busy, w.calls.Load(), err)
	}
}
