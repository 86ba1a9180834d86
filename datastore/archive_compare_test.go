package datastore_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
)

// openedArchive backs data up, as an image or as a stream, and opens it.
func openedArchive(t testing.TB, store *testds.Store, time backupinfo.Time, name string, data []byte, key *keys.Key) *datastore.Archive {
	t.Helper()
	ds := store.Open(datastore.Options{})
	w, err := ds.Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{Time: time, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	archive := archiveName(t, name)
	if archive.Kind() == backupinfo.FixedIndex {
		_, err = w.AddImage(t.Context(), archive, bytes.NewReader(data), int64(len(data)))
	} else {
		_, err = w.AddStream(t.Context(), archive, bytes.NewReader(data))
	}
	if err == nil {
		_, err = w.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := ds.OpenSnapshot(t.Context(), w.Snapshot(), datastore.ReadOptions{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.OpenArchive(t.Context(), archive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(a.Close(), r.Close()) })
	return a
}

// TestChunksTellTheTruthAboutRanges compares what they tell with the data, in images and in streams with something put in.
func TestChunksTellTheTruthAboutRanges(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	base := image(t, "xs64:1:30M")
	put := append(append(bytes.Clone(base[:11<<20]), "something else"...), base[11<<20:]...)
	changed := bytes.Clone(base)
	changed[9<<20]++
	var all []*datastore.Archive
	contents := [][]byte{base, put, changed, base, changed, put[:20<<20]}
	for i, data := range contents {
		name := "data.didx"
		if i > 2 {
			name = "disk.img"
		}
		all = append(all, openedArchive(t, store, backupinfo.Time(i+1), name, data, nil))
	}
	for at, want := range map[uint64]datastore.Likeness{0: datastore.Same, 8 << 20: datastore.Different} {
		if like, err := all[3].CompareRange(t.Context(), at, all[4], at, 4<<20); err != nil || like != want {
			t.Errorf("the chunk at %d: %v, %v", at, like, err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range 30 {
			i, j := rapid.IntRange(0, len(all)-1).Draw(rt, "a"), rapid.IntRange(0, len(all)-1).Draw(rt, "b")
			size := rapid.IntRange(0, 12<<20).Draw(rt, "size")
			at := rapid.IntRange(0, len(contents[i])-size).Draw(rt, "at")
			shift := rapid.SampledFrom([]int{0, 0, 14, -14, 1}).Draw(rt, "shift")
			otherAt := min(max(at+shift, 0), len(contents[j])-size)
			like, err := all[i].CompareRange(t.Context(), uint64(at), all[j], uint64(otherAt), uint64(size))
			if err != nil {
				rt.Fatal(err)
			}
			equal := bytes.Equal(contents[i][at:at+size], contents[j][otherAt:otherAt+size])
			if equal && like == datastore.Different || !equal && like == datastore.Same {
				rt.Fatalf("%d at %d and %d at %d, %d bytes: %v, and equal is %v", i, at, j, otherAt, size, like, equal)
			}
		}
	})
	for _, beyond := range [][2]uint64{{30 << 20, 1}, {1, 30 << 20}, {1 << 63, 1 << 63}, {0, 1<<64 - 1}} {
		if _, err := all[0].CompareRange(t.Context(), beyond[0], all[2], beyond[0], beyond[1]); !errors.Is(err, datastore.ErrCorrupt) {
			t.Errorf("%v: %v", beyond, err)
		}
	}
}

func changedRanges(t *testing.T, a, b *datastore.Archive) (ranges []datastore.ChangedRange) {
	t.Helper()
	for r, err := range a.ChangedRanges(t.Context(), b) {
		if err != nil {
			t.Fatal(err)
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// TestChangedRangesHoldAllThatChanged compares images of several lengths, both ways round.
func TestChangedRangesHoldAllThatChanged(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	base := image(t, "xs64:1:26M")
	change := func(data []byte, places ...int) []byte {
		data = bytes.Clone(data)
		for _, at := range places {
			data[at]++
		}
		return data
	}
	contents := [][]byte{
		base, change(base, 0), change(base, 5<<20, 9<<20), change(base, 26<<20-1), base[:24<<20], base[:22<<20],
		change(base[:22<<20], 3<<20), base[:1],
	}
	want := map[[2]int][]datastore.ChangedRange{
		{0, 0}: nil,
		{0, 1}: {{Start: 0, End: 4 << 20}},
		{0, 2}: {{Start: 4 << 20, End: 12 << 20}},
		{0, 3}: {{Start: 24 << 20, End: 26 << 20}},
		{0, 4}: {{Start: 24 << 20, End: 26 << 20}},
		{0, 5}: {{Start: 20 << 20, End: 26 << 20}},
		{5, 6}: {{Start: 0, End: 4 << 20}},
		{0, 7}: {{Start: 0, End: 26 << 20}},
		{7, 7}: nil,
	}
	var images []*datastore.Archive
	for i, data := range contents {
		images = append(images, openedArchive(t, store, backupinfo.Time(i+1), "disk.img", data, nil))
	}
	for i, a := range images {
		for j, b := range images {
			ranges := changedRanges(t, a, b)
			if expected, ok := want[[2]int{i, j}]; ok && !equalRanges(ranges, expected) {
				t.Errorf("%d and %d: %v", i, j, ranges)
			}
			end := uint64(max(len(contents[i]), len(contents[j])))
			at := uint64(0)
			for _, r := range append(ranges, datastore.ChangedRange{Start: end, End: end}) { // what is between them has to be equal
				if r.Start < at || r.End > end || !bytes.Equal(part(contents[i], at, r.Start), part(contents[j], at, r.Start)) {
					t.Errorf("%d and %d: something has changed that is not in %v", i, j, ranges)
				}
				at = r.End
			}
		}
	}
}

// part is a part of data; what is beyond its end is not the same as anything.
func part(data []byte, start, end uint64) []byte {
	if end > uint64(len(data)) && start < end {
		return append(bytes.Clone(data[min(start, uint64(len(data))):]), fmt.Sprint(len(data))...)
	}
	return data[min(start, uint64(len(data))):min(end, uint64(len(data)))]
}

func equalRanges(a, b []datastore.ChangedRange) bool {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// TestChunksUnderOtherKeysTellNothing has the same data in plain and under two keys: their digests have nothing to do with each other.
func TestChunksUnderOtherKeysTellNothing(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	data := image(t, "xs64:1:9M")
	one, two := newTestKey(t), newTestKey(t)
	plain := openedArchive(t, store, 1, "disk.img", data, nil)
	first := openedArchive(t, store, 2, "disk.img", data, one)
	second := openedArchive(t, store, 3, "disk.img", data, two)
	again := openedArchive(t, store, 4, "disk.img", data, one)
	for _, pair := range [][2]*datastore.Archive{{plain, first}, {first, plain}, {first, second}} {
		like, err := pair[0].CompareRange(t.Context(), 0, pair[1], 0, uint64(len(data)))
		if like != datastore.LikenessUnknown || err != nil {
			t.Errorf("%v, %v", like, err)
		}
		for _, err := range pair[0].ChangedRanges(t.Context(), pair[1]) {
			if !errors.Is(err, datastore.ErrIncomparable) {
				t.Error(err)
			}
		}
	}
	if ranges := changedRanges(t, first, again); len(ranges) > 0 {
		t.Error(ranges)
	}
	stream := openedArchive(t, store, 5, "data.didx", data, nil)
	for _, err := range plain.ChangedRanges(t.Context(), stream) {
		if !errors.Is(err, datastore.ErrIncomparable) {
			t.Error(err)
		}
	}
}

func newTestKey(t *testing.T) *keys.Key {
	t.Helper()
	key, err := keys.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return key
}
