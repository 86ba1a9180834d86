package datastore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// dynamicIndex is an index of chunks of one byte each.
func dynamicIndex(t *testing.T, digests ...digest.Digest) []byte {
	t.Helper()
	var entries bytes.Buffer
	w := index.NewDynamicWriter(&entries)
	for i, d := range digests {
		if err := w.Add(uint64(i+1), d); err != nil {
			t.Fatal(err)
		}
	}
	header, _, err := w.Finish([16]byte{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return append(header, entries.Bytes()...)
}

// damagedIndexes are those that parse as whole, by file name.
func damagedIndexes(t *testing.T) map[string][]byte {
	t.Helper()
	a, b, c := numberedDigest(1), numberedDigest(2), numberedDigest(3)
	dynamic, fixed := dynamicIndex(t, a, b, c), fixedIndex(t, a, b, c)
	end := len(fixedIndex(t, a))
	return map[string][]byte{
		"cut-off.didx":         dynamic[:len(dynamic)-40],
		"cut-off-to-none.didx": dynamic[:index.HeaderSize],
		"longer.didx":          dynamicIndex(t, a, b, c, numberedDigest(4))[:len(dynamic)],
		"changed.fidx":         slices.Concat(fixed[:end], make([]byte, 32), fixed[end+32:]),
		"no-checksum.fidx":     slices.Concat(fixed[:32], make([]byte, 32), fixed[64:]),
	}
}

// TestAnIndexWithOtherEntriesThanItWasWrittenWithStopsACollection has indexes that look whole, and chunks that they named.
func TestAnIndexWithOtherEntriesThanItWasWrittenWithStopsACollection(t *testing.T) {
	t.Parallel()
	for name, raw := range damagedIndexes(t) {
		for where, want := range map[string]datastore.BlockerKind{
			"somewhere":                       datastore.BlockerIndex,
			"vm/100/" + first.String():        datastore.BlockerIndex,
			"vm/100/" + second.String():       datastore.BlockerUnfinished,
			"ns/a/ct/7/" + first.String():     datastore.BlockerUnfinished,
			"vm/100/" + first.String() + "/x": datastore.BlockerIndex,
		} {
			t.Run(name+" in "+where, func(t *testing.T) {
				t.Parallel()
				store := testds.New(t)
				store.Damaged = true
				store.Backup("vm/100", first, image(t, "xs64:1:100"))
				for i := range byte(3) {
					putChunkFile(t, store, numberedDigest(i+1).String(), []byte("x"))
				}
				dir := filepath.Join(store.Dir, where)
				if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), raw, 0o644)); err != nil {
					t.Fatal(err)
				}
				report, err := store.Open(datastore.Options{}).Collect(t.Context(), nothing)
				if !errors.Is(err, datastore.ErrCorrupt) || len(chunkFiles(t, store)) != 4 || len(report.Blocked) != 1 {
					t.Fatalf("%v, %+v", err, report)
				}
				blocker := report.Blocked[0]
				if blocker.Kind != want || blocker.Path != where+"/"+name || (blocker.Snapshot == nil) != (strings.HasPrefix(where, "some") || strings.HasSuffix(where, "x")) {
					t.Errorf("%+v", blocker)
				}
				if report.Referenced < 1 || strings.HasPrefix(name, "changed") && report.Referenced != 4 {
					t.Errorf("%d chunks marked", report.Referenced)
				}
				_ = os.RemoveAll(filepath.Join(store.Dir, "ns"))
			})
		}
	}
}

// TestAnIndexOfABackupOfOursThatWasCutOffHoldsNothingUp is what a power cut leaves.
func TestAnIndexOfABackupOfOursThatWasCutOffHoldsNothingUp(t *testing.T) {
	t.Parallel()
	all := damagedIndexes(t)
	all["empty.didx"], all["short.fidx"] = nil, make([]byte, 100)
	for name, raw := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Leftovers = true
			kept := len(indexDigests(t, raw, name))
			for i := range byte(3) {
				putChunkFile(t, store, numberedDigest(i+1).String(), []byte("x"))
			}
			dir := filepath.Join(store.Dir, "vm/100", first.String())
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), raw, 0o644)); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, "..", "owner"), "root@pam\n")
			put(t, filepath.Join(dir, ".pbs-like-writer"), "")
			notices := 0
			ds := store.Open(datastore.Options{Events: datastore.Events{Notice: func(datastore.Notice) { notices++ }}})
			report, err := ds.Collect(t.Context(), nothing)
			if err != nil || len(report.Blocked) != 0 || len(chunkFiles(t, store)) != kept || notices != 1 {
				t.Errorf("%v, %d notices, %d kept, %q", err, notices, kept, chunkFiles(t, store))
			}
		})
	}
}

// indexDigests are those of the three chunks that an index still names.
func indexDigests(t *testing.T, raw []byte, name string) (named []digest.Digest) {
	t.Helper()
	kind := index.Fixed
	if strings.HasSuffix(name, ".didx") {
		kind = index.Dynamic
	}
	for d, err := range index.Digests(t.Context(), bytes.NewReader(raw), int64(len(raw)), kind) {
		if err == nil && d != (digest.Digest{}) {
			named = append(named, d)
		}
	}
	return named
}

// TestAWrongChecksumInTheHeaderAloneIsTold has entries that the manifest confirms.
func TestAWrongChecksumInTheHeaderAloneIsTold(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	snapshot := store.Backup("vm/100", first, image(t, "xs64:1:5M"))
	file := filepath.Join(store.Dir, snapshot.Dir(), "disk.img.fidx")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[32] ^= 1
	put(t, file, string(raw))
	var notices []string
	ds := store.Open(datastore.Options{Events: datastore.Events{Notice: func(n datastore.Notice) { notices = append(notices, n.Text) }}})
	if report, err := ds.Collect(t.Context(), nothing); err != nil || report.DiskChunks != 2 || len(notices) != 1 {
		t.Errorf("%v, %+v, %q", err, report, notices)
	}
	raw[len(raw)-1] ^= 1 // not what the manifest says either
	put(t, file, string(raw))
	if report, err := ds.Collect(t.Context(), nothing); !errors.Is(err, datastore.ErrCorrupt) || report.RemovedChunks != 0 {
		t.Errorf("%v, %+v", err, report)
	}
	store.Damaged = true
}
