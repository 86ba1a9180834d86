package datastore_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func TestALooseChunkIsInspected(t *testing.T) {
	t.Parallel()
	store := damageStore(t)
	name := chunkFiles(t, store)[0]
	stored, err := os.ReadFile(filepath.Join(store.Dir, ".chunks", name[:4], name))
	noError(t, err)
	loose := filepath.Join(t.TempDir(), "rescued")
	put(t, loose, string(stored))
	b, err := datastore.InspectBlob(loose)
	if err != nil || b.Err() != nil || b.Digest.String() != name || b.CRCErr != nil || len(b.Data) != 50000 {
		t.Errorf("%+v, %v", b.Err(), err)
	}
	for what, change := range map[string]func([]byte) []byte{
		"a wrong CRC":   func(s []byte) []byte { s[len(s)-1] ^= 1; return s },
		"cut off":       func(s []byte) []byte { return s[:len(s)/2] },
		"no header":     func(s []byte) []byte { return s[:5] },
		"another magic": func(s []byte) []byte { s[0] ^= 1; return s },
		"empty":         func([]byte) []byte { return nil },
	} {
		put(t, loose, string(change([]byte(string(stored)))))
		if b, err := datastore.InspectBlob(loose); err != nil || !errors.Is(b.Err(), datastore.ErrCorrupt) {
			t.Errorf("%s: %v, %v", what, b.Err(), err)
		}
	}
	noError(t, os.Truncate(loose, 1<<40))
	if b, err := datastore.InspectBlob(loose); err != nil || !errors.Is(b.Err(), datastore.ErrCorrupt) {
		t.Errorf("huge: %v, %v", b.Err(), err)
	}
}

func TestALooseFileThatIsNoneIsRefusedAndNeverWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipeAt("pipe")(t, dir)
	for _, name := range []string{"pipe", ".", "missing"} {
		if _, err := datastore.InspectBlob(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is a blob", name)
		}
		if _, err := datastore.InspectIndex(t.Context(), filepath.Join(dir, name), datastore.InspectIndexOptions{}); err == nil {
			t.Errorf("%s is an index", name)
		}
	}
}

func TestALooseIndexIsInspected(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	snapshot := store.Backup("vm/100", first, image(t, "xs64:1:4M+xs64:1:4M+xs64:2:1M"))
	stored, err := os.ReadFile(filepath.Join(store.Dir, snapshot.Dir(), "disk.img.fidx"))
	noError(t, err)
	loose := filepath.Join(t.TempDir(), "rescued")
	inspect := func(content []byte) (x datastore.IndexInspection, entries []datastore.IndexEntry) {
		t.Helper()
		put(t, loose, string(content))
		x, err := datastore.InspectIndex(t.Context(), loose, datastore.InspectIndexOptions{Store: store.Open(datastore.Options{}), Each: func(e datastore.IndexEntry) error {
			entries = append(entries, e)
			return nil
		}})
		noError(t, err)
		return x, entries
	}
	x, entries := inspect(stored)
	if x.Err() != nil || x.Kind != index.Fixed || x.Count != 3 || x.Distinct != 2 || x.Missing != 0 || x.Size != 9<<20 || len(entries) != 3 || entries[2].Chunk.End != 9<<20 {
		t.Errorf("%+v, %+v", x, entries)
	}
	other := []byte(string(stored))
	other[len(other)-1] ^= 1
	if x, entries = inspect(other); !errors.Is(x.Err(), datastore.ErrCorrupt) || x.Stored == x.Computed || x.Missing != 1 || !entries[2].Missing {
		t.Errorf("another digest: %+v", x)
	}
	if x, entries = inspect(stored[:len(stored)-1]); !errors.Is(x.Err(), datastore.ErrCorrupt) || x.Count != 2 || len(entries) != 2 {
		t.Errorf("cut off: %+v", x)
	}
	other = []byte(string(stored))
	binary.LittleEndian.PutUint64(other[64:], 1<<40)
	if x, _ = inspect(other); !errors.Is(x.Err(), datastore.ErrCorrupt) || x.Count != 3 {
		t.Errorf("another size: %+v", x)
	}
	if x, _ = inspect([]byte("garbage")); !errors.Is(x.Err(), datastore.ErrCorrupt) || x.Count != 0 {
		t.Errorf("garbage: %+v", x)
	}
}

func TestFilesOfTheOriginalAreInspected(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store")
	indexes, encrypted, blobs := 0, 0, 0
	for _, pattern := range []string{"*/*/*/*", "ns/*/*/*/*/*"} {
		names, err := filepath.Glob(filepath.Join(store.Dir, pattern))
		noError(t, err)
		for _, name := range names {
			switch filepath.Ext(name) {
			case ".fidx", ".didx":
				x, err := datastore.InspectIndex(t.Context(), name, datastore.InspectIndexOptions{Store: store.Open(datastore.Options{})})
				if err != nil || x.Err() != nil {
					t.Errorf("%s: %v, %v", name, x.Err(), err)
				}
				indexes++
			case ".blob":
				b, err := datastore.InspectBlob(name)
				if err != nil || b.Err() != nil {
					t.Errorf("%s: %v, %v", name, b.Err(), err)
				}
				if blobs++; errors.Is(b.DecodeErr, blob.ErrNeedKey) {
					encrypted++
				}
			}
		}
	}
	if indexes == 0 || blobs == 0 || encrypted == 0 {
		t.Errorf("%d indexes, %d blobs, %d of them encrypted", indexes, blobs, encrypted)
	}
}
