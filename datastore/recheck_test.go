package datastore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
)

// TestAnUnfinishedSnapshotCountsAsLeftBehindADayAfterItsLastChange has times of
// content that somebody set back, which says nothing about the last change.
func TestAnUnfinishedSnapshotCountsAsLeftBehindADayAfterItsLastChange(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "disk.img.fidx"} {
		root, snapshot := openUnfinished(t, file)
		for after, left := range map[time.Duration]bool{0: false, 23 * time.Hour: false, 25 * time.Hour: true} {
			err := checkAbandoned(root, snapshot, time.Now().Add(after))
			if left != (err == nil) || !left && !errors.Is(err, ErrUnfinished) {
				t.Errorf("%q after %s: %v", file, after, err)
			}
		}
	}
}

func openUnfinished(t *testing.T, file string) (*os.File, backupinfo.Snapshot) {
	t.Helper()
	group, err := backupinfo.ParseGroup(backupinfo.Namespace{}, "vm/100")
	if err != nil {
		t.Fatal(err)
	}
	snapshot := backupinfo.Snapshot{Group: group, Time: 1767323045}
	root, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	dir := filepath.Join(root.Name(), snapshot.Dir())
	err = os.MkdirAll(dir, 0o755)
	for _, name := range []string{filepath.Join(dir, file), dir} {
		if name != dir {
			err = errors.Join(err, os.WriteFile(name, nil, 0o644))
		}
		err = errors.Join(err, os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return root, snapshot
}

// TestAManifestThatSomebodyElseReplacedIsNotOverwritten stands for a server, whose locks are of another kind.
func TestAManifestThatSomebodyElseReplacedIsNotOverwritten(t *testing.T) {
	t.Parallel()
	root, snapshot := openUnfinished(t, backupinfo.ManifestName)
	var set guards
	defer set.Close()
	manifest, err := lockManifest(&set, root, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root.Name(), snapshot.Dir(), backupinfo.ManifestName)
	if err := errors.Join(os.WriteFile(name+".new", []byte("theirs"), 0o644), os.Rename(name+".new", name)); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := replaceManifest(nil, dir, manifest, []byte("ours")); !errors.Is(err, flock.ErrChanged) {
		t.Error(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
}
