package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// TestListingsAndVerificationsGoOnWhileSnapshotsComeAndGo has a writer that backs
// up and prunes all the time: what comes in between is skipped, and nothing fails for it.
func TestListingsAndVerificationsGoOnWhileSnapshotsComeAndGo(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Leftovers = true
	rounds := 100
	if testing.Short() {
		rounds = 15
	}
	ctx, stop := context.WithCancel(t.Context())
	var all errgroup.Group
	all.Go(func() error {
		defer stop()
		ds := store.Open(datastore.Options{LockWait: time.Minute})
		for i := range rounds {
			if _, err := testds.Backup(t.Context(), ds, store.Group("vm/100"), first+backupinfo.Time(i), []byte{byte(i % 3)}); err != nil {
				return err
			}
			if _, err := ds.Prune(t.Context(), store.Group("vm/100"), keepLast(2)); err != nil {
				return err
			}
		}
		return nil
	})
	for ctx.Err() == nil {
		store.Snapshots()
		report, _ := verify(t, store, allSnapshots)
		for _, wrong := range []datastore.Verdict{datastore.VerdictFailed, datastore.VerdictUnsure} {
			if report.Verdicts[wrong] > 0 {
				t.Errorf("%+v", report)
			}
		}
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// TestOfABackupAndACollectionAtOnceOneRuns starts them at the same instant, again and again.
func TestOfABackupAndACollectionAtOnceOneRuns(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	rounds := 500
	if testing.Short() {
		rounds = 20
	} else if sampled() {
		rounds = 150
	}
	for round := range rounds {
		group := store.Group(fmt.Sprint("vm/", 1+round%3))
		var both errgroup.Group
		var refused [2]error
		both.Go(func() error {
			_, refused[0] = testds.Backup(t.Context(), store.Open(datastore.Options{}), group, first+backupinfo.Time(round), []byte{byte(round % 5)})
			return nil
		})
		both.Go(func() error {
			_, refused[1] = store.Open(datastore.Options{}).Collect(t.Context(), nothing)
			return nil
		})
		if err := both.Wait(); err != nil {
			t.Error(err)
		}
		for _, err := range refused {
			if err != nil && (!errors.Is(err, flock.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid()))) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if refused[0] != nil && refused[1] != nil {
			t.Errorf("round %d: neither ran: %v", round, refused)
		}
	}
}

// TestTheCutOffIsCountedFromTheBeginning lets a collection take 30 hours.
func TestTheCutOffIsCountedFromTheBeginning(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
	looks := 0
	now := func() time.Time {
		looks++
		return time.Now().Add(time.Duration(looks-1) * 30 * time.Hour)
	}
	if report := collect(t, store, datastore.CollectOptions{Now: now}); report.PendingChunks != 1 || report.RemovedChunks != 0 || looks < 2 {
		t.Errorf("%+v, %d", report, looks)
	}
}

// TestOnAFullDiskEverythingThatMakesRoomWorks needs no byte and no inode.
func TestOnAFullDiskEverythingThatMakesRoomWorks(t *testing.T) {
	t.Parallel()
	for what, options := range map[string]string{"no room": "size=3m", "no inodes": "size=100m,nr_inodes=60"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			store := smallDisk(t, options)
			for i := range 4 {
				store.Backup("vm/100", first+backupinfo.Time(i)*day, image(t, fmt.Sprintf("xs64:%d:3000", i+1)))
			}
			store.Backup("ct/200", first, image(t, "xs64:9:3000"))
			fillToTheBrim(t, store.Dir)
			ds := store.Open(datastore.Options{})
			if got := len(store.Finished()); got != 5 {
				t.Errorf("%d are listed", got)
			}
			if report, err := ds.Prune(t.Context(), store.Group("vm/100"), keepLast(1)); err != nil || report.Count(datastore.PruneRemoved) != 3 {
				t.Errorf("%+v, %v", report, err)
			}
			fillToTheBrim(t, store.Dir)
			if _, err := ds.RemoveGroup(t.Context(), store.Group("ct/200"), datastore.RemoveGroupOptions{}); err != nil {
				t.Error(err)
			}
			fillToTheBrim(t, store.Dir)
			if report, err := ds.Collect(t.Context(), nothing); err != nil || report.RemovedChunks != 4 || report.DiskChunks != 1 {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
}

// listWithLimit lists everything with few descriptors.
func listWithLimit(ctx context.Context, args []string, pipe *helperproc.IO) error {
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		return err
	}
	store, err := datastore.Open(args[0], datastore.Options{OnlyHost: true})
	if err != nil {
		return err
	}
	group, err := backupinfo.ParseGroup(backupinfo.Namespace{}, "vm/100")
	if err != nil {
		return err
	}
	count, most := 0, 0
	for info, err := range store.Snapshots(ctx, group) {
		if err = errors.Join(err, info.Err); err != nil && count == 0 {
			return err
		}
		if count++; count%1000 == 0 {
			open, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				return err
			}
			most = max(most, len(open))
		}
	}
	report, err := store.Prune(ctx, group, datastore.PruneOptions{Keep: backupinfo.KeepOptions{Last: 1}, DryRun: true})
	pipe.Say(fmt.Sprintf("%d listed, few open: %v, %d would go, %v", count, most < 32, report.Count(datastore.PruneRemoved), err))
	return nil
}

func TestManySnapshotsNeedFewDescriptorsToBeListedAndPruned(t *testing.T) {
	t.Parallel()
	count := 20_000
	if testing.Short() {
		count = 2000
	}
	store := testds.New(t)
	manySnapshots(t, store, count, first)
	helperproc.Start(t, "list with limit", store.Dir).Expect(fmt.Sprintf("%d listed, few open: true, %d would go, <nil>", count, count-1))
	if entries, err := os.ReadDir(filepath.Join(store.Dir, "vm/100")); err != nil || len(entries) != count+1 {
		t.Errorf("%d, %v", len(entries), err)
	}
}
