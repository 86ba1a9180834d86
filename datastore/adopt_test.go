package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
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
		"another store inside":        {func(t *testing.T, dir string) { t.Helper(); mkdir("vm")(t, dir); mkdir("ct/1/.chunks")(t, dir) }, datastore.ErrNested},
		"another store inside, whole": {func(t *testing.T, dir string) { t.Helper(); mkdir(".chunks")(t, dir); mkdir("a/.chunks")(t, dir) }, datastore.ErrNested},
		"the cache of an object store": {func(t *testing.T, dir string) {
			t.Helper()
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

// thinned lets a disk's hooks see one of the 65,536 directories only: each of them is made and removed alike.
func thinned(disk *fsop.Disk) *fsop.Disk {
	if disk == nil {
		return nil
	}
	thin, before, after := *disk, disk.Before, disk.After
	passed := func(c fsop.Change) bool {
		number, ok := chunkstore.ParseDirectory(filepath.Base(c.Path))
		return before == nil || ok && number != 0x8000
	}
	thin.Before = func(c fsop.Change) error {
		if passed(c) {
			return nil
		}
		return before(c)
	}
	thin.After = func(c fsop.Change, result error) error {
		if passed(c) || after == nil {
			return result
		}
		return after(c, result)
	}
	return &thin
}

// adoptAll adopts a directory, and makes an error of whatever could not be mended.
func adoptAll(ctx context.Context, dir string, disk *fsop.Disk) error {
	var failed []error
	_, err := datastore.Adopt(ctx, dir, datastore.Options{OnlyHost: true, Disk: thinned(disk)}, datastore.CheckOptions{Each: func(f datastore.Finding) {
		failed = append(failed, f.Err)
	}})
	return errors.Join(append(failed, err)...)
}

// bare is a copy of a store without hidden names, in which somebody may do too much.
func bare(t *testing.T) *testds.Store {
	t.Helper()
	store := damageStore(t)
	store.Damaged, store.Leftovers = true, true
	noError(t, errors.Join(os.RemoveAll(filepath.Join(store.Dir, ".chunks")), os.Remove(filepath.Join(store.Dir, ".lock"))))
	chmod("vm/100", 0o777)(t, store.Dir)
	return store
}

// checkAdopted adopts once more, undisturbed, after which the store is whole.
func checkAdopted(t *testing.T, store *testds.Store, injected fmt.Stringer) {
	t.Helper()
	if there, err := filepath.Glob(filepath.Join(store.Dir, ".chunks", "*")); len(there) != 0 && len(there) != 1<<16 || err != nil {
		t.Errorf("%s: .chunks has %d directories, %v", injected, len(there), err)
	}
	if err := adoptAll(t.Context(), store.Dir, nil); err != nil {
		t.Errorf("%s: the next one: %v", injected, err)
	}
	found, _ := check(t, store.Open(datastore.Options{}), datastore.CheckOptions{})
	for _, f := range found {
		if f.Severity != datastore.SeverityNote || f.Repairable {
			t.Errorf("%s: %+v", injected, f)
		}
	}
	noError(t, os.RemoveAll(store.Dir))
}

func TestAnAdoptionThatFailsSomewhereIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	skipIfSampled(t)
	for script := range fsoptest.Failures(t, unix.EIO) {
		store := bare(t)
		if err := adoptAll(t.Context(), store.Dir, script.Disk()); script.Injected() != errors.Is(err, unix.EIO) {
			t.Errorf("%s: %v", script, err)
		}
		checkAdopted(t, store, script)
	}
}

func TestAnAdoptionThatIsKilledIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	skipIfSampled(t)
	for n, died := 0, true; died; n++ { // before each: what is on disk after one is what is there before the next
		store := bare(t)
		script := spec(fmt.Sprintf("kill-before-%d", n))
		died = operation{name: "adopt"}.start(t, store, string(script)).Ended() != nil
		checkAdopted(t, store, script)
	}
}
