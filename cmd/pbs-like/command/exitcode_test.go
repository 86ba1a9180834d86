package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"nothing wrong", nil, 0},
		{"anything", errors.New("x"), 1},
		{"a source file that is missing is no object of the store", fs.ErrNotExist, 1},
		{"data that needs a key", blob.ErrNeedKey, 1},
		{"unfinished, and read", datastore.ErrUnfinished, 1},
		{"unfinished, and to be removed", fmt.Errorf("%w%w", datastore.ErrUnfinished, errPresumablyInUse), 11},
		{"older", datastore.ErrOlder, 1},
		{"exists", datastore.ErrExists, 1},
		{"shared store", datastore.ErrSharedStore, 1},
		{"maintenance", datastore.ErrMaintenance, 11},
		{"object cache", datastore.ErrObjectCache, 10},
		{"command line", usageErrorf("x"), 2},
		{"a bad name on the command line", asUsage(datastore.ErrNotFound), 2},
		{"in part", fmt.Errorf("%w: 1 kept", errPartly), 3},
		{"not found", &datastore.NotFoundError{Kind: "group"}, 10},
		{"no datastore", datastore.ErrNotDatastore, 10},
		{"not mounted", datastore.ErrNotMounted, 10},
		{"locked", &flock.LockedError{}, 11},
		{"locked among others", errors.Join(errors.New("x"), &flock.LockedError{}), 11},
		{"a missing chunk is damage", fmt.Errorf("%w: %w", datastore.ErrCorrupt, fs.ErrNotExist), 12},
		{"protected", &datastore.ProtectedError{}, 13},
		{"owner", datastore.ErrNotOwner, 13},
		{"owner of the store", fmt.Errorf("x: %w", datastore.ErrWrongUser), 13},
		{"lock lost", fmt.Errorf("x: %w", flock.ErrChanged), 14},
		{"cancelled", context.Canceled, 130},
	}
	for _, test := range tests {
		if got := exitCode(t.Context(), test.err); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestAnyErrorAfterASignalIsAnInterruption(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := exitCode(ctx, errors.New("read: file already closed")); got != exitInterrupted {
		t.Errorf("error: %d", got)
	}
	if got := exitCode(ctx, nil); got != exitDone {
		t.Errorf("a signal after the end: %d", got)
	}
}

func TestEachExitCodeIsDocumentedOnce(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for _, row := range exitCodes() {
		if seen[row.code] || row.meaning == "" {
			t.Errorf("code %d", row.code)
		}
		seen[row.code] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d codes", len(seen))
	}
}
