package datastore_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
)

func adopt(t *testing.T, dir string, opts datastore.Options) (datastore.CheckReport, error) {
	t.Helper()
	opts.OnlyHost = true
	return datastore.Adopt(t.Context(), dir, opts, datastore.CheckOptions{Chunks: true})
}

func TestACopyWithoutHiddenNamesIsAdoptedAndRestoresAgain(t *testing.T) {
	t.Parallel()
	store := damageStore(t)
	chunks := filepath.Join(filepath.Dir(store.Dir), "chunks")
	noError(t, errors.Join(os.Rename(filepath.Join(store.Dir, ".chunks"), chunks), os.Remove(filepath.Join(store.Dir, ".lock"))))
	noError(t, exec.CommandContext(t.Context(), "chmod", "-R", "go+w", filepath.Join(store.Dir, "vm")).Run())
	if os.Geteuid() == 0 {
		noError(t, exec.CommandContext(t.Context(), "chown", "-R", "12345", filepath.Join(store.Dir, "vm")).Run())
	}
	report, err := adopt(t, store.Dir, datastore.Options{})
	if err != nil || report.Errors+report.Warnings+report.Unchecked != 0 || report.Repaired < 10 {
		t.Errorf("%+v, %v", report, err)
	}
	noError(t, exec.CommandContext(t.Context(), "cp", "-a", chunks+"/.", filepath.Join(store.Dir, ".chunks")).Run())
	noError(t, os.RemoveAll(chunks))
	store.Backup("vm/100", third, []byte("goes on"))
	if report, err = adopt(t, store.Dir, datastore.Options{}); err != nil || report.Repaired+report.Errors != 0 {
		t.Errorf("once more: %+v, %v", report, err)
	}
}

func TestWhatIsNoStoreIsNotAdoptedAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plant func(t *testing.T, dir string)
		want  error
	}{
		"an empty mount point":        {func(*testing.T, string) {}, datastore.ErrNotMounted},
		"a disk with lost+found":      {mkdir("lost+found"), datastore.ErrNotMounted},
		"somebody's home":             {mkdir("documents"), datastore.ErrNotDatastore},
		"files named like types":      {planted("vm", ""), datastore.ErrNotDatastore},
		"a link in place of .chunks":  {linkAt(".chunks"), datastore.ErrNotDatastore},
		"another store inside":        {func(t *testing.T, dir string) { mkdir("vm")(t, dir); mkdir("ct/1/.chunks")(t, dir) }, datastore.ErrNested},
		"another store inside, whole": {func(t *testing.T, dir string) { mkdir(".chunks")(t, dir); mkdir("a/.chunks")(t, dir) }, datastore.ErrNested},
		"the cache of an object store": {func(t *testing.T, dir string) {
			planted(".lock", "")(t, dir)
			mkdir("vm")(t, dir)
			planted(".chunks/abcd/"+aDigest+".using", "")(t, dir)
		}, datastore.ErrNotDatastore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			test.plant(t, dir)
			if name == "another store inside, whole" {
				planted(".lock", "")(t, dir)
			}
			before := attributes(t, dir)
			if _, err := adopt(t, dir, datastore.Options{}); !errors.Is(err, test.want) || attributes(t, dir) != before {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
	outer := testds.New(t)
	outer.Damaged = true
	mkdir("inner/vm")(t, outer.Dir)
	if _, err := adopt(t, filepath.Join(outer.Dir, "inner"), datastore.Options{}); !errors.Is(err, datastore.ErrNested) {
		t.Errorf("inside of a store: %v", err)
	}
}
