package datastore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// collectOrBackUp does one or the other for each line, and tells when it made its
// first and its last change of the store.
func collectOrBackUp(ctx context.Context, args []string, pipe *helperproc.IO) error {
	if err := deafenLocks(); err != nil {
		return err
	}
	var begin, end atomic.Int64
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if !strings.Contains(c.Path, "/.pbs-like-lock") {
			now := monotonicNow()
			begin.CompareAndSwap(0, now)
			end.Store(now)
		}
		return nil
	}}
	store, err := datastore.Open(args[0], datastore.Options{OnlyHost: true, HostID: args[1], LeaseOnly: true, Disk: disk})
	if err != nil {
		return err
	}
	pipe.Ready()
	for n := 0; ; n++ {
		if _, err := pipe.Next(); err != nil {
			return nil //nolint:nilerr // the test is over
		}
		begin.Store(0)
		if args[1] == "collector" {
			_, err = store.Collect(ctx, datastore.CollectOptions{})
		} else {
			_, err = testds.Backup(ctx, store, backupinfo.Group{Type: "vm", ID: "100"}, third+backupinfo.Time(n), []byte{byte(n), byte(n >> 8)})
		}
		pipe.Say(fmt.Sprintf("%d %d %v", begin.Load(), end.Load(), oneLineOf(err)))
	}
}

func monotonicNow() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // it always can
	return now.Nano()
}

func oneLineOf(err error) string {
	if err == nil {
		return "done"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// TestACollectionAndABackupOfAnotherHostNeverChangeTheStoreAtATime starts both at
// once, again and again.
func TestACollectionAndABackupOfAnotherHostNeverChangeTheStoreAtATime(t *testing.T) {
	t.Parallel()
	rounds := 2000
	if testing.Short() {
		rounds = 10
	} else if sampled() {
		rounds = 60
	}
	store := testds.New(t)
	store.Leftovers = true
	store.Backup("vm/100", first, []byte("first"))
	share(t, store, 0)
	collector := helperproc.Start(t, "collect or back up", store.Dir, "collector")
	writer := helperproc.Start(t, "collect or back up", store.Dir, "writer")
	collector.WaitReady()
	writer.WaitReady()
	collected, written := 0, 0
	for range rounds {
		collector.Send("go")
		writer.Send("go")
		a, b := parseSpan(t, collector.Line()), parseSpan(t, writer.Line())
		if a.begin != 0 && b.begin != 0 && a.begin <= b.end && b.begin <= a.end {
			t.Fatalf("both at a time: %+v, %+v", a, b)
		}
		collected += a.done
		written += b.done
	}
	t.Logf("of %d: %d collections, %d backups", rounds, collected, written)
	if collected+written == 0 {
		t.Error("nobody ever got a lock")
	}
}

type span struct {
	begin, end int64
	done       int
}

func parseSpan(t *testing.T, line string) (s span) {
	t.Helper()
	var result string
	if _, err := fmt.Sscan(line, &s.begin, &s.end, &result); err != nil {
		t.Fatal(line, err)
	}
	switch {
	case result == "done":
		s.done = 1
	case !strings.Contains(line, "in use"):
		t.Error(line)
	}
	return s
}
