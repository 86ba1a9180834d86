package datastore

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

func someProgress(name string, proofs int) VerifyProgress {
	s := SnapshotProgress{Name: name, Content: [32]byte{1}, Since: time.Unix(1767323045, 0)}
	for i := range proofs {
		s.Proofs = append(s.Proofs, Proof{byte(i >> 8), byte(i)})
	}
	return VerifyProgress{Snapshots: []SnapshotProgress{s, {Name: "ns/a/ct/7/2026-01-01T00:00:00Z", Since: time.Unix(0, 0), Proofs: []Proof{{9}}}}}
}

func TestASaveThatFailsOrIsCutOffLeavesTheOldOrTheNew(t *testing.T) {
	t.Parallel()
	id, before, after := StoreID{7}, someProgress("vm/100/2026-01-02T03:04:05Z", 1000), someProgress("vm/200/2026-01-02T03:04:05Z", 500)
	for _, points := range []func(testing.TB, unix.Errno) iter.Seq[*fsoptest.Script]{fsoptest.Failures, fsoptest.Deaths} {
		for script := range points(t, unix.ENOSPC) {
			dir := filepath.Join(t.TempDir(), "state")
			memory := verifyMemoryDir{dir: dir}
			if err := memory.Save(id, before); err != nil {
				t.Fatal(err)
			}
			failing := verifyMemoryDir{dir: dir, disk: script.Disk()}
			err := failing.Save(id, after)
			got, loadErr := memory.Load(id)
			if loadErr != nil || !reflect.DeepEqual(got, before) && !reflect.DeepEqual(got, after) {
				t.Errorf("%v: %v", script, loadErr)
			}
			if err == nil && !reflect.DeepEqual(got, after) {
				t.Errorf("%v: it says that it is saved, and is not", script)
			}
		}
	}
}

func TestAMemoryForgetsWhatIsEmptyAndMakesItsDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	memory := NewVerifyMemory(dir)
	if got, err := memory.Load(StoreID{1}); err != nil || len(got.Snapshots) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := memory.Save(StoreID{1}, VerifyProgress{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("made for nothing: %v", err)
	}
	if err := memory.Save(StoreID{1}, someProgress("x", 3)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := memory.Save(StoreID{1}, VerifyProgress{}); err != nil {
		t.Error(err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

func FuzzParseProgress(f *testing.F) {
	id := StoreID{1, 2, 3}
	for _, p := range []VerifyProgress{{}, someProgress("vm/100/2026-01-02T03:04:05Z", 3), someProgress("", 0)} {
		data := encodeProgress(id, p)
		f.Add(data[:len(data)-32])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = parseProgress(id, body) // as it is: hardly ever with the right checksum
		data := withChecksum(bytes.Clone(body))
		progress, err := parseProgress(id, data)
		if err == nil && !bytes.Equal(encodeProgress(id, progress), data) {
			t.Errorf("%x is read as %+v", data, progress)
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
	})
}

func TestWhatIsNoMemoryIsCorrupt(t *testing.T) {
	t.Parallel()
	id := StoreID{1}
	good := encodeProgress(id, someProgress("vm/100/2026-01-02T03:04:05Z", 3))
	if _, err := parseProgress(id, good); err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if _, err := parseProgress(id, good[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
		flipped := bytes.Clone(good)
		flipped[n] ^= 1
		if _, err := parseProgress(id, flipped); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("with byte %d changed: %v", n, err)
		}
	}
	body := good[:len(good)-32]
	for _, n := range []int{1, 16, 17} {
		if _, err := parseProgress(id, withChecksum(bytes.Clone(body[:len(body)-n]))); !errors.Is(err, ErrCorrupt) {
			t.Errorf("without %d bytes: %v", n, err)
		}
	}
	unordered := someProgress("x", 3)
	unordered.Snapshots[0].Proofs[2] = unordered.Snapshots[0].Proofs[1]
	if _, err := parseProgress(id, encodeProgress(id, unordered)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a proof twice: %v", err)
	}
}
