package datastore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
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

// TestAGroupThatChangesBetweenItsListingAndItsLocks has each snapshot taken away, and
// another directory in its place, after the group was listed and before that snapshot was
// locked: what is gone is passed over, and what is there now is judged as it is.
func TestAGroupThatChangesBetweenItsListingAndItsLocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change            func(at string) error
		finished, guarded bool // what comes of it
		refused           error
	}{
		"as it was":             {func(string) error { return nil }, true, false, nil},
		"gone":                  {os.RemoveAll, false, false, nil},
		"a file in its place":   {func(at string) error { return errors.Join(os.RemoveAll(at), os.WriteFile(at, nil, 0o600)) }, false, false, nil},
		"a link in its place":   {linkAt, false, false, nil},
		"a new one begun":       {begunAt, false, false, ErrUnfinished},
		"its manifest gone":     {func(at string) error { return os.Remove(filepath.Join(at, backupinfo.ManifestName)) }, false, false, ErrUnfinished},
		"protected":             {protectAt, false, true, nil},
		"another, protected":    {replacedAndProtected, false, true, nil},
		"locked by a new owner": {replacedAndLocked(t), false, false, flock.ErrLocked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, snapshot := openUnfinished(t, backupinfo.ManifestName)
			names, err := groupEntries(root, snapshot.Group)
			if err != nil || len(names) != 1 {
				t.Fatal(names, err)
			}
			if err := c.change(filepath.Join(root.Name(), snapshot.Dir())); err != nil {
				t.Fatal(err)
			}
			var set guards
			defer set.Close()
			var content groupContent
			refused, err := content.add(&set, root, snapshot.Group, names[0], false)
			if err != nil || !errors.Is(errors.Join(refused...), c.refused) || len(refused) > 0 != (c.refused != nil) {
				t.Errorf("%v, %v", refused, err)
			}
			if c.finished != (len(content.snapshots) == 1) || c.guarded != (len(content.protected) == 1) {
				t.Errorf("%+v", content)
			}
		})
	}
}

func linkAt(at string) error { return errors.Join(os.RemoveAll(at), os.Symlink("/", at)) }

func begunAt(at string) error { return errors.Join(os.RemoveAll(at), os.Mkdir(at, 0o700)) }

func protectAt(at string) error {
	return os.WriteFile(filepath.Join(at, backupinfo.ProtectedName), nil, 0o600)
}

func replacedAndProtected(at string) error {
	return errors.Join(os.Rename(at, at+".old"), os.Mkdir(at, 0o700),
		os.WriteFile(filepath.Join(at, backupinfo.ManifestName), nil, 0o600), os.WriteFile(filepath.Join(at, backupinfo.ProtectedName), nil, 0o600))
}

func replacedAndLocked(t *testing.T) func(at string) error {
	t.Helper()
	return func(at string) error {
		err := errors.Join(os.Rename(at, at+".old"), os.Mkdir(at, 0o700))
		dir, open := os.Open(filepath.Dir(at))
		if err = errors.Join(err, open); err != nil {
			return err
		}
		defer dir.Close()
		guard, err := flock.TryExclusive(flock.Ref{Dir: dir, Name: filepath.Base(at)})
		t.Cleanup(func() { guard.Close() })
		return err
	}
}

// TestWhatASnapshotHasBecomeBeforeItsLockDecidesAboutItsRemoval has it change after it
// was seen finished, or unfinished, which says what locks it needs.
func TestWhatASnapshotHasBecomeBeforeItsLockDecidesAboutItsRemoval(t *testing.T) {
	t.Parallel()
	manifest := func(at string) string { return filepath.Join(at, backupinfo.ManifestName) }
	for name, c := range map[string]struct {
		file     string
		finished bool
		change   func(at string) error
		want     error
	}{
		"as it was":              {backupinfo.ManifestName, true, func(string) error { return nil }, nil},
		"gone":                   {backupinfo.ManifestName, true, os.RemoveAll, ErrNotFound},
		"protected":              {backupinfo.ManifestName, true, protectAt, ErrProtected},
		"its group gone":         {"x.didx", false, func(at string) error { return os.RemoveAll(filepath.Dir(at)) }, ErrNotFound},
		"finished":               {"x.didx", false, func(at string) error { return os.WriteFile(manifest(at), nil, 0o600) }, errCommitted},
		"another, protected":     {backupinfo.ManifestName, true, replacedAndProtected, ErrProtected},
		"another, in use":        {backupinfo.ManifestName, true, replacedAndLocked(t), flock.ErrLocked},
		"a link in its place":    {backupinfo.ManifestName, true, linkAt, beneath.ErrSymlink},
		"begun again and unseen": {"x.didx", false, begunAt, ErrUnfinished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, snapshot := openUnfinished(t, c.file)
			if err := c.change(filepath.Join(root.Name(), snapshot.Dir())); err != nil {
				t.Fatal(err)
			}
			var set guards
			defer set.Close()
			if err := lockAsSeen(&set, root, snapshot, c.finished, false); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%v, not %v", err, c.want)
			}
		})
	}
}
