package datastore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// manyChunks makes a snapshot of 40 chunks that are all different.
func manyChunks(t *testing.T) (*testds.Store, backupinfo.Snapshot) {
	t.Helper()
	return someChunks(t, 40)
}

func someChunks(t *testing.T, chunks int) (*testds.Store, backupinfo.Snapshot) {
	t.Helper()
	store := testds.New(t)
	const size = 4 << 20
	image := make([]byte, chunks*size)
	for i := range chunks {
		image[i*size] = byte(i + 1)
	}
	store.Backup("vm/100", first, image)
	return store, backupinfo.Snapshot{Group: store.Group("vm/100"), Time: first}
}

func TestASampleNeverMakesASnapshotGoodThatWasNotReadWhole(t *testing.T) {
	t.Parallel()
	store, snapshot := manyChunks(t)
	half := datastore.VerifyOptions{Depth: -1, Sample: 0.5, Seed: 1}
	report, verdicts := verify(t, store, half)
	if v := verdicts[0]; v.Verdict != datastore.VerdictSampled || v.Skipped+report.Chunks != 40 || v.Skipped == 0 || report.Chunks == 0 {
		t.Fatalf("%+v, %+v", v, report)
	}
	if state := readManifest(t, store, snapshot).VerifyState(); state != nil {
		t.Errorf("recorded %+v", state)
	}
	// The same seed reads the same; another one reads others.
	if again, _ := verify(t, store, half); again.Chunks != report.Chunks || again.Bytes != report.Bytes {
		t.Errorf("%+v, %+v", report, again)
	}
	store.Damaged = true
	// All that is damaged is found with some seed, is recorded, and says what is lost.
	file := filepath.Join(store.Dir, ".chunks", chunkFiles(t, store)[0][:4], chunkFiles(t, store)[0])
	if err := os.WriteFile(file, []byte("wrong"), 0o644); err != nil {
		t.Fatal(err)
	}
	found, missed := 0, 0
	for seed := range uint64(40) {
		opts := half
		opts.Seed, opts.DryRun = seed, true
		_, verdicts := verify(t, store, opts)
		switch v := verdicts[0]; v.Verdict {
		case datastore.VerdictFailed:
			found++
			if len(v.Archives) != 1 || v.Archives[0].Lost != 1 {
				t.Errorf("%+v", v)
			}
			half.Seed = seed
		case datastore.VerdictSampled:
			missed++
		default:
			t.Errorf("%+v", v)
		}
	}
	if found < 5 || missed < 5 {
		t.Errorf("found %d times, missed %d times", found, missed)
	}
	verify(t, store, half)
	if state := readManifest(t, store, snapshot).VerifyState(); state == nil || state.State != backupinfo.VerifyFailed {
		t.Errorf("recorded %+v", state)
	}
	// Who reads all by a sample may say so.
	store.Backup("vm/200", second, []byte("small"))
	_, verdicts = verify(t, store, datastore.VerifyOptions{Groups: []backupinfo.Group{store.Group("vm/200")}, Sample: 1})
	if v := verdicts[0]; v.Verdict != datastore.VerdictOK {
		t.Errorf("%+v", v)
	}
}

func TestTheTimeBudgetEndsWithinASnapshotAndSaysNothingOfIt(t *testing.T) {
	t.Parallel()
	store, snapshot := manyChunks(t)
	store.Backup("vm/200", first, []byte("other"))
	// Each look at the clock takes a second.
	var ticks atomic.Int64
	now := time.Now()
	opts := datastore.VerifyOptions{Depth: -1, MaxDuration: 15 * time.Second, Now: func() time.Time {
		return now.Add(time.Duration(ticks.Add(1)) * time.Second)
	}}
	report, verdicts := verify(t, store, opts)
	if len(verdicts) != 2 || verdicts[0].Verdict != datastore.VerdictPartly || verdicts[1].Verdict != datastore.VerdictNotReached || report.Chunks == 0 || report.Chunks > 15 {
		t.Errorf("%+v, %+v", verdicts, report)
	}
	if state := readManifest(t, store, snapshot).VerifyState(); state != nil {
		t.Errorf("recorded %+v", state)
	}
	store.Damaged = true
	// What is found damaged until then is recorded all the same.
	for _, name := range chunkFiles(t, store) {
		if err := os.WriteFile(filepath.Join(store.Dir, ".chunks", name[:4], name), []byte("wrong"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ticks.Store(0)
	_, verdicts = verify(t, store, opts)
	if v := verdicts[0]; v.Verdict != datastore.VerdictFailed || len(v.Archives) != 1 || v.Archives[0].Lost == 0 || v.Archives[0].Lost > 15 {
		t.Errorf("%+v", v)
	}
	if state := readManifest(t, store, snapshot).VerifyState(); state == nil || state.State != backupinfo.VerifyFailed {
		t.Errorf("recorded %+v", state)
	}
}

func TestTheNextRunGoesOnWithWhatWasVerifiedLeastRecently(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	for n := range 6 {
		store.Backup(fmt.Sprint("vm/", 100+n), first, bytes.Repeat([]byte{byte(n + 1)}, 100))
	}
	reached := map[string]int{}
	start := time.Now()
	for run := range 3 {
		var ticks atomic.Int64
		opts := datastore.VerifyOptions{Depth: -1, MaxDuration: 9 * time.Second, Now: func() time.Time {
			return start.Add(time.Duration(run)*time.Hour + time.Duration(ticks.Add(1))*time.Second)
		}}
		_, verdicts := verify(t, store, opts)
		for _, v := range verdicts {
			if v.Verdict == datastore.VerdictOK {
				reached[v.Snapshot.Dir()]++
			}
		}
	}
	if len(reached) != 6 {
		t.Errorf("%v", reached)
	}
}
