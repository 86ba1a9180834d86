package datastore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func TestProtectionMakesTheMarkerOfTheOriginal(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	ds := store.Open(datastore.Options{})
	for _, want := range []bool{true, false} {
		if changed, err := ds.Protect(t.Context(), one, datastore.ProtectOptions{}); err != nil || changed != want {
			t.Errorf("changed %v, %v", changed, err)
		}
	}
	info, err := os.Stat(filepath.Join(store.Dir, one.Dir(), ".protected"))
	if err != nil || info.Size() != 0 || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := ds.RemoveSnapshot(t.Context(), one, datastore.RemoveOptions{Force: true}); !errors.Is(err, datastore.ErrProtected) {
		t.Error(err)
	}
	for _, want := range []bool{true, false} {
		if changed, err := ds.Unprotect(t.Context(), one, datastore.UnprotectOptions{}); err != nil || changed != want {
			t.Errorf("changed back %v, %v", changed, err)
		}
	}
	if _, err := ds.RemoveSnapshot(t.Context(), one, datastore.RemoveOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := ds.Protect(t.Context(), one, datastore.ProtectOptions{}); !errors.Is(err, datastore.ErrNotFound) {
		t.Error(err)
	}
}

func TestFactsAreKeptBesideAProtection(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	ds := store.Open(datastore.Options{})
	later := backupinfo.Time(4e9)
	protect := func(opts datastore.ProtectOptions, want bool) {
		t.Helper()
		if changed, err := ds.Protect(t.Context(), one, opts); err != nil || changed != want {
			t.Errorf("%+v: changed %v, %v", opts, changed, err)
		}
	}
	protect(datastore.ProtectOptions{Reason: "an audit"}, true)
	protect(datastore.ProtectOptions{Until: later}, true)
	protect(datastore.ProtectOptions{}, false)
	protect(datastore.ProtectOptions{Until: later, Reason: "an audit"}, false)
	want := datastore.Protection{Protected: true, Until: later, Reason: "an audit"}
	if got, err := ds.Protection(t.Context(), one); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := ds.RemoveSnapshot(t.Context(), one, datastore.RemoveOptions{})
	if !errors.Is(err, datastore.ErrProtected) || !strings.Contains(err.Error(), `is protected until 2096-10-02T07:06:40Z: "an audit"`) {
		t.Error(err)
	}
	if _, err := ds.Protect(t.Context(), one, datastore.ProtectOptions{Reason: "\xff"}); err == nil {
		t.Error("took a reason that is no text")
	}
}

func TestAProtectionWhoseTimeHasComeEndsOnlyWhenToldTo(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	over, lasting := store.Backup("vm/100", first, []byte("x")), store.Backup("vm/100", second, []byte("y"))
	store.Backup("vm/100", third, []byte("z"))
	ds := store.Open(datastore.Options{})
	for s, until := range map[backupinfo.Snapshot]backupinfo.Time{over: first + 1, lasting: 4e9} {
		if _, err := ds.Protect(t.Context(), s, datastore.ProtectOptions{Until: until}); err != nil {
			t.Fatal(err)
		}
	}
	if got := outcomes(prune(t, store, keepLast(1))); got != "kept kept kept" {
		t.Error(got)
	}
	if _, err := ds.RemoveSnapshot(t.Context(), over, datastore.RemoveOptions{}); !errors.Is(err, datastore.ErrProtected) || !strings.Contains(err.Error(), "which is over") {
		t.Error(err)
	}
	for s, want := range map[backupinfo.Snapshot]bool{over: true, lasting: false} {
		if changed, err := ds.Unprotect(t.Context(), s, datastore.UnprotectOptions{OnlyExpired: true}); err != nil || changed != want {
			t.Errorf("%s: %v, %v", s, changed, err)
		}
	}
}

// What lies there under the name protects, whatever it is.
func TestAnUnreadableMarkerProtects(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"no JSON": "hello", "another shape": `["until"]`, "a wrong type": `{"until":"soon","reason":7}`, "much": strings.Repeat("x", 1<<17), "half": `{"reason":"x"`,
	} {
		store := testds.New(t)
		one := store.Backup("vm/100", first, []byte("x"))
		put(t, filepath.Join(store.Dir, one.Dir(), ".protected"), content)
		ds := store.Open(datastore.Options{})
		if got, err := ds.Protection(t.Context(), one); err != nil || got != (datastore.Protection{Protected: true}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	if err := os.Mkdir(filepath.Join(store.Dir, one.Dir(), ".protected"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Open(datastore.Options{}).Protection(t.Context(), one); err != nil || !got.Protected {
		t.Errorf("a directory: %+v, %v", got, err)
	}
}

func TestWhatIsInUseIsNotProtectedNow(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := store.Backup("vm/100", first, []byte("x"))
	ds := store.Open(datastore.Options{})
	reader, err := ds.OpenSnapshot(t.Context(), one, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if changed, err := ds.Protect(t.Context(), one, datastore.ProtectOptions{}); !errors.Is(err, flock.ErrLocked) || changed {
		t.Errorf("%v, %v", changed, err)
	}
}
