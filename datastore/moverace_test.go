package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// wanderer does what changes the tree of namespaces, at random, and counts the snapshots that come and go.
type wanderer struct {
	store  *datastore.Datastore
	random *rand.Rand
	times  *atomic.Int64
	count  *atomic.Int64
}

func (w wanderer) namespace() backupinfo.Namespace {
	return namespace([]string{"a", "b", "a/b", "b/a"}[w.random.IntN(4)])
}

func (w wanderer) group() backupinfo.Group {
	return backupinfo.Group{Namespace: w.namespace(), Type: backupinfo.VM, ID: fmt.Sprint(w.random.IntN(2))}
}

func (w wanderer) step(ctx context.Context) error {
	switch w.random.IntN(8) {
	case 0, 1:
		return w.store.CreateNamespace(ctx, w.namespace(), datastore.CreateNamespaceOptions{Parents: w.random.IntN(2) == 0})
	case 2:
		report, err := w.store.RemoveNamespace(ctx, w.namespace(), datastore.RemoveNamespaceOptions{DeleteGroups: w.random.IntN(4) == 0})
		w.count.Add(-int64(len(report.Snapshots)))
		return err
	case 3:
		_, err := w.store.MoveNamespace(ctx, w.namespace(), w.namespace(), datastore.MoveNamespaceOptions{})
		return err
	case 4, 5:
		_, err := w.store.MoveGroup(ctx, w.group(), w.namespace(), datastore.MoveOptions{Merge: w.random.IntN(2) == 0})
		return err
	default:
		_, err := testds.Backup(ctx, w.store, w.group(), backupinfo.Time(1_700_000_000+w.times.Add(1)), []byte("x"))
		if err == nil {
			w.count.Add(1)
		}
		return err
	}
}

// allowed are the refusals that a wanderer may get.
func allowed(err error) bool {
	return permitted(err) || errors.Is(err, datastore.ErrNotEmpty)
}

// TestNamespacesThatComeAndGoAndMoveLoseNothing makes sure that what was backed up
// and not removed is there at the end, in one place each, and that every error on
// the way was a clean one.
func TestNamespacesThatComeAndGoAndMoveLoseNothing(t *testing.T) {
	t.Parallel()
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	store := testds.New(t)
	var times, count atomic.Int64
	var all errgroup.Group
	for seed := range uint64(4) {
		all.Go(func() error {
			w := wanderer{store.Open(datastore.Options{}), rand.New(rand.NewPCG(seed, 1)), &times, &count}
			for range rounds {
				err := w.step(t.Context())
				if err != nil && !allowed(err) && !isMoveIntoItself(err) {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	if got := int64(len(store.Finished())); got != count.Load() || len(store.Snapshots()) != int(got) {
		t.Errorf("%d snapshots are there, %d were made and not removed", got, count.Load())
	}
	if count.Load() == 0 {
		t.Error("nothing is left to count")
	}
	sweepLeftovers(t, store)
}

func isMoveIntoItself(err error) bool { return strings.Contains(err.Error(), "inside of it") }

// TestABackupThatMakesItsGroupHoldsTheNamespaceInPlace tries to take the namespace
// away right before the new group is renamed into it, where it would go along unseen.
func TestABackupThatMakesItsGroupHoldsTheNamespaceInPlace(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	makeNamespaces(store, "a")
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if c.Op == fsop.OpRename && strings.HasSuffix(c.To, "ns/a/vm/100") {
			for _, do := range []func(*datastore.Datastore) error{moveNamespace("a", "b"), removeNamespace("a", datastore.RemoveNamespaceOptions{})} {
				if err := do(store.Open(datastore.Options{})); !errors.Is(err, flock.ErrLocked) {
					t.Errorf("not refused: %v", err)
				}
			}
		}
		return nil
	}}
	snapshot, err := testds.Backup(t.Context(), store.OpenWith(disk), groupIn("a", "vm/100"), first, []byte("x"))
	if err != nil || len(store.Finished()) != 1 {
		t.Errorf("%v, %v", snapshot, err)
	}
}

// TestTwoMovesThatCrossLoseNothing moves a group both ways at once, again and again.
func TestTwoMovesThatCrossLoseNothing(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	backUpIn(store, "a", "vm/1", first)
	backUpIn(store, "b", "vm/1", second)
	var both errgroup.Group
	for from, to := range map[string]string{"a": "b", "b": "a"} {
		both.Go(func() error {
			ds := store.Open(datastore.Options{})
			for range 200 {
				err := moveGroup(ds, groupIn(from, "vm/1"), to, datastore.MoveOptions{Merge: true})
				if err != nil && !errors.Is(err, flock.ErrLocked) && !errors.Is(err, datastore.ErrNotFound) {
					return err
				}
			}
			return nil
		})
	}
	if err := both.Wait(); err != nil {
		t.Error(err)
	}
	if got := store.Finished(); len(got) != 2 || got[0].Group != got[1].Group {
		t.Errorf("%v", got)
	}
	store.Leftovers = true
	sweepLeftovers(t, store)
}
