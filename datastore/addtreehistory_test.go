package datastore_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
)

// evolve changes a tree in some places. What is changed gets a new time, as a file system does it.
func evolve(t *rapid.T, tree memTree, now int64) memTree {
	next := memTree{}
	for name, f := range tree {
		switch rapid.IntRange(0, 11).Draw(t, "what becomes of "+name) {
		case 0:
			f = memFile{data: genContent(t), changed: now}
		case 1:
			f.changed = now
		case 2:
			continue
		}
		next[name] = f
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "new files") {
		name := fmt.Sprintf("%s/%d-%d", rapid.SampledFrom([]string{"a", "b", "b/c", "d/e/f", "z"}).Draw(t, "directory"), now, i)
		next[name] = memFile{data: genContent(t), changed: now}
	}
	return next
}

func genContent(t *rapid.T) []byte {
	size := rapid.OneOf(rapid.IntRange(0, 600), rapid.IntRange(0, 30_000)).Draw(t, "size")
	seed := rapid.Uint32().Draw(t, "seed")
	data := make([]byte, size)
	for i := range data {
		seed = seed*1664525 + 1013904223
		data[i] = byte(seed >> 24)
	}
	return data
}

// TestAfterAnyHistoryOfTreesEveryFileIsReadBack mixes the modes, the keys and the limits.
func TestAfterAnyHistoryOfTreesEveryFileIsReadBack(t *testing.T) {
	t.Parallel()
	key, err := keys.New([keys.Size]byte{3})
	if err != nil {
		t.Fatal(err)
	}
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		group := store.Group(fmt.Sprintf("host/h%d", n))
		tree := evolve(rt, memTree{"first": {data: []byte("x")}}, 1)
		for round := range rapid.IntRange(2, 5).Draw(rt, "rounds") {
			opts := datastore.TreeOptions{
				ChangeDetection: datastore.ChangeDetection(rapid.SampledFrom([]int{0, 1, 2, 2, 2, 2}).Draw(rt, "mode")),
				ChunkSize:       rapid.SampledFrom([]int{4 << 10, 4 << 10, 16 << 10}).Draw(rt, "chunks"),
				MaxQueued:       rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(rt, "queue"),
				MaxPadding:      rapid.SampledFrom([]float64{0, -1, 0.5, 1}).Draw(rt, "padding"),
			}
			backup := datastore.BackupOptions{
				Time: first + day*backupinfo.Time(round), Key: key,
				CryptMode: rapid.SampledFrom([]backupinfo.CryptMode{backupinfo.CryptNone, backupinfo.CryptNone, backupinfo.CryptEncrypt, backupinfo.CryptEncrypt, backupinfo.CryptSignOnly}).Draw(rt, "crypt"),
			}
			_, snapshot := backupTree(t, ds, group, tree, opts, backup)
			if got := readTree(t, ds, snapshot, datastore.ReadOptions{Key: key}); !got.equal(tree) {
				rt.Fatalf("round %d: %d files are read back, of %d, or others", round, len(got), len(tree))
			}
			tree = evolve(rt, tree, int64(round)+2)
		}
	})
}
