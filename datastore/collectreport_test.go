package datastore_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func TestACollectionTellsWhichIndexesNameLostChunks(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Leftovers = true
	for name, chunks := range map[string][]byte{"a.fidx": {1, 2, 3, 3, 4}, "b.fidx": {1}, "c.fidx": {3, 1}} {
		var digests []digest.Digest
		for _, n := range chunks {
			digests = append(digests, numberedDigest(n))
		}
		if err := os.WriteFile(filepath.Join(store.Dir, name), fixedIndex(t, digests...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	putChunkFile(t, store, numberedDigest(1).String(), []byte("good"))
	putChunkFile(t, store, numberedDigest(2).String(), nil)
	putChunkFile(t, store, numberedDigest(3).String()+".0.bad", []byte("bad"))
	for _, opts := range []datastore.CollectOptions{{DryRun: true}, {}} {
		report := collect(t, store, opts)
		want := []datastore.DamagedIndex{{Path: "a.fidx", Lost: 4, Bad: 2}, {Path: "c.fidx", Lost: 1, Bad: 1}}
		if !reflect.DeepEqual(report.Damaged, want) || report.DamagedIndexes != 2 || report.Missing != 2 || report.Empty != 1 {
			t.Errorf("%+v", report)
		}
	}
	putChunkFile(t, store, numberedDigest(2).String(), []byte("anew"))
	putChunkFile(t, store, numberedDigest(3).String(), []byte("anew"))
	putChunkFile(t, store, numberedDigest(4).String(), []byte("anew"))
	if report := collect(t, store, datastore.CollectOptions{}); report.DamagedIndexes != 0 {
		t.Errorf("%+v", report)
	}
}

func TestWhatIsPendingIsToldUntilWhen(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	before := time.Now().Add(-time.Second)
	for n := range byte(3) {
		putChunkFile(t, store, numberedDigest(n).String(), []byte("xyz"))
	}
	report := collect(t, store, datastore.CollectOptions{Cutoff: time.Hour})
	from, until := before.Add(time.Hour), time.Now().Add(time.Hour)
	if report.PendingChunks != 3 || report.PendingBytes != 9 || report.PendingFrom.Before(from) || report.PendingUntil.Before(report.PendingFrom) || report.PendingUntil.After(until) {
		t.Errorf("%+v", report)
	}
	// One moment later than told, they go.
	report = collect(t, store, datastore.CollectOptions{Cutoff: time.Hour, Now: func() time.Time { return report.PendingUntil.Add(1) }})
	if report.RemovedChunks != 3 || !report.PendingUntil.IsZero() {
		t.Errorf("%+v", report)
	}
}

// TestWhatRewritesLeftIsSweptOnceNobodyCanBeAtIt leaves the files that a kill
// leaves in the middle of a rewrite.
func TestWhatRewritesLeftIsSweptOnceNobodyCanBeAtIt(t *testing.T) {
	t.Parallel()
	store := scenario{before: 1}.store(t)
	store.Leftovers = true
	group, snapshot := filepath.Join(store.Dir, "vm", "100"), filepath.Join(store.Dir, "vm", "100", first.String())
	swept := []string{filepath.Join(group, "owner.tmp_a1B2c3"), filepath.Join(group, "notes.tmp_a1B2c3"), filepath.Join(snapshot, "index.json.tmp_a1B2c3")}
	other := filepath.Join(snapshot, "other.tmp_a1B2c3") // nobody knows whose
	for _, name := range append(swept, other) {
		if err := os.WriteFile(name, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if report := collect(t, store, nothing); report.RemovedLeftovers != 0 {
		t.Errorf("%+v", report)
	}
	opts := nothing
	opts.Now = later(2 * time.Hour)
	opts.DryRun = true
	if report := collect(t, store, opts); report.RemovedLeftovers != 3 {
		t.Errorf("%+v", report)
	}
	opts.DryRun = false
	if report := collect(t, store, opts); report.RemovedLeftovers != 3 {
		t.Errorf("%+v", report)
	}
	for _, name := range swept {
		if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(other); err != nil {
		t.Error(err)
	}
}

func TestPruningSweepsWhatRewritesLeftInItsGroup(t *testing.T) {
	t.Parallel()
	store := scenario{before: 2}.store(t)
	store.Leftovers = true
	group := filepath.Join(store.Dir, "vm", "100")
	ages := map[string]time.Duration{"owner.tmp_a1B2c3": 2 * time.Hour, "notes.tmp_a1B2c3": 0, "else.tmp_a1B2c3": 2 * time.Hour}
	for name, age := range ages {
		at := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(filepath.Join(group, name), []byte("half"), 0o644), os.Chtimes(filepath.Join(group, name), at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Open(datastore.Options{}).Prune(t.Context(), store.Group("vm/100"), keepLast(1)); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{"owner.tmp_a1B2c3": false, "notes.tmp_a1B2c3": true, "else.tmp_a1B2c3": true} {
		if _, err := os.Lstat(filepath.Join(group, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}
