package datastore_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// TestReadingAheadReadsTheSame reads forward, back and forth, and by several at once.
func TestReadingAheadReadsTheSame(t *testing.T) {
	t.Parallel()
	data := image(t, "xs64:1:25M+zero:9M+text:1:9M")
	a := imageArchive(t, data)
	a.ReadAhead(3)
	all, err := io.ReadAll(io.NewSectionReader(a, 0, int64(len(data))))
	if err != nil || !bytes.Equal(all, data) {
		t.Fatalf("%d bytes, %v", len(all), err)
	}
	var readers sync.WaitGroup
	for seed := range uint64(3) {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(seed, 2))
			for range 30 {
				at := random.IntN(len(data) - 1)
				got := make([]byte, min(1+random.IntN(6<<20), len(data)-at))
				if n, err := a.ReadAt(got, int64(at)); err != nil || !bytes.Equal(got[:n], data[at:at+n]) {
					t.Errorf("%d bytes from %d: %d, %v", len(got), at, n, err)
				}
			}
		})
	}
	readers.Wait()
}

// TestReadingAheadNamesDamageInItsPlace reads up to a chunk that is damaged, and behind it.
func TestReadingAheadNamesDamageInItsPlace(t *testing.T) {
	t.Parallel()
	data := image(t, "xs64:1:32M")
	store := testds.New(t)
	store.Damaged = true
	reader, err := store.Open(datastore.Options{}).OpenSnapshot(t.Context(), store.Backup("vm/100", first, data), datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	a, err := reader.OpenArchive(t.Context(), archive(t, testds.ImageName))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	const chunk = 4 << 20
	damageChunk(t, store, data[3*chunk:4*chunk])
	a.ReadAhead(4)
	got := make([]byte, chunk)
	for i := range len(data) / chunk {
		_, err := a.ReadAt(got, int64(i*chunk))
		if i == 3 && !errors.Is(err, datastore.ErrCorrupt) || i != 3 && (err != nil || !bytes.Equal(got, data[i*chunk:(i+1)*chunk])) {
			t.Errorf("chunk %d: %v", i, err)
		}
	}
	if _, err := a.ReadAt(got, 0); err != nil { // what is on its way at the end is waited for
		t.Error(err)
	}
}
