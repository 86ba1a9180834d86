package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// witness is a file that only the holder of the group's lock makes, and removes
// before it lets go: somebody who finds it there has a lock that another one has too.
type witness struct{ path string }

func (w witness) enter() error {
	f, err := os.OpenFile(w.path, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("two hold the lock: %w", err)
	}
	return f.Close()
}

func (w witness) leave() error { return os.Remove(w.path) }

// contend backs up and removes one group again and again. Every removal of the
// group or of its last snapshot takes away the directory that others are about to lock.
func contend(ctx context.Context, args []string, pipe *helperproc.IO) error {
	rounds, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	c := contender{dir: args[0], witness: witness{args[0] + ".witness"}, random: rand.New(rand.NewPCG(seed, 1))}
	for range rounds {
		err := c.round(ctx)
		switch {
		case err == nil:
			c.done++
		case !permitted(err):
			return err
		}
	}
	pipe.Say(fmt.Sprint("done ", c.done))
	return nil
}

// permitted are the refusals that a contender may get.
func permitted(err error) bool {
	for _, class := range []error{flock.ErrLocked, datastore.ErrNotFound, datastore.ErrExists, datastore.ErrOlder} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

type contender struct {
	dir     string
	witness witness
	random  *rand.Rand
	done    int
}

func (c *contender) round(ctx context.Context) error {
	group, err := backupinfo.ParseGroup(backupinfo.Namespace{}, "vm/100")
	if err != nil {
		return err
	}
	switch c.random.IntN(4) {
	case 0:
		return c.remove(func(store *datastore.Datastore) error {
			_, err := store.RemoveGroup(ctx, group, datastore.RemoveGroupOptions{})
			return err
		})
	default:
		return c.backUp(ctx, group, c.random.IntN(2) == 0)
	}
}

func (c *contender) backUp(ctx context.Context, group backupinfo.Group, commit bool) error {
	store, err := datastore.Open(c.dir, datastore.Options{OnlyHost: true})
	if err != nil {
		return err
	}
	w, err := store.Backup(ctx, group, datastore.BackupOptions{Time: backupinfo.Time(1 + c.random.IntN(1<<30))})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := c.witness.enter(); err != nil {
		return err
	}
	if _, err := w.AddBlob(ctx, mustArchive("vm.conf"), strings.NewReader("x")); err != nil {
		return err
	}
	if err := c.witness.leave(); err != nil {
		return err
	}
	if commit {
		_, err = w.Commit(ctx)
	} else {
		err = w.Close()
	}
	return err
}

func mustArchive(name string) backupinfo.ArchiveName {
	a, err := backupinfo.ParseArchiveName(name)
	if err != nil {
		panic(err) // a constant of this test
	}
	return a
}

// remove looks for the witness right before the rename that takes the group
// away. With that rename the name is free for others, though the lock is still held.
func (c *contender) remove(do func(store *datastore.Datastore) error) error {
	var failed error
	disk := &fsop.Disk{Before: func(change fsop.Change) error {
		if change.Op == fsop.OpRename && strings.HasSuffix(change.Path, "vm/100") {
			failed = c.witness.enter()
			if failed == nil {
				runtime.Gosched()
				failed = c.witness.leave()
			}
		}
		return failed
	}}
	store, err := datastore.Open(c.dir, datastore.Options{OnlyHost: true, Disk: disk})
	if err != nil {
		return err
	}
	return errors.Join(failed, do(store))
}

func TestTheLockOfAGroupThatComesAndGoesHasOneHolder(t *testing.T) {
	t.Parallel()
	rounds := 1500
	if testing.Short() {
		rounds = 100
	}
	store := testds.New(t)
	store.Leftovers = true // a remover that finds the group taken by another one sweeps later
	var workers []*helperproc.Proc
	for seed := range 4 {
		workers = append(workers, helperproc.Start(t, "contend", store.Dir, fmt.Sprint(rounds), fmt.Sprint(seed)))
	}
	for _, worker := range workers {
		line := worker.Line()
		var done int
		if _, err := fmt.Sscanf(line, "done %d", &done); err != nil || done < rounds/20 {
			t.Errorf("a contender: %s", line)
		}
		if err := worker.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestOfTwoBackupsAtOnceOneRuns starts them at the same instant, again and again.
func TestOfTwoBackupsAtOnceOneRuns(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	var rounds errgroup.Group
	rounds.SetLimit(50) // each loser waits for a moment before it gives up
	for round := range 500 {
		rounds.Go(func() error {
			running, refused, err := twoBackups(t, store, store.Group(fmt.Sprint("vm/", round)))
			if err == nil && (running != 1 || refused != 1) {
				err = fmt.Errorf("round %d: %d run and %d are refused", round, running, refused)
			}
			return err
		})
	}
	if err := rounds.Wait(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Join(store.Dir, "vm")); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// twoBackups begins two backups at once, and gives both up when both have got their answer.
func twoBackups(t *testing.T, store *testds.Store, group backupinfo.Group) (running, refused int, err error) {
	t.Helper()
	ds := store.Open(datastore.Options{})
	start := make(chan struct{})
	writers, errs := make(chan *datastore.SnapshotWriter, 2), make(chan error, 2)
	for range 2 {
		go func() {
			<-start
			w, err := ds.Backup(t.Context(), group, datastore.BackupOptions{Time: first})
			writers <- w
			errs <- err
		}()
	}
	close(start)
	for _, got := range []error{<-errs, <-errs} {
		switch {
		case got == nil:
			running++
		case errors.Is(got, flock.ErrLocked):
			refused++
		default:
			err = errors.Join(err, got)
		}
	}
	return running, refused, errors.Join(err, (<-writers).Close(), (<-writers).Close())
}
