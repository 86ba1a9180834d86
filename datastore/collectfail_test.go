package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

var errnos = []unix.Errno{unix.ENOSPC, unix.EACCES, unix.EPERM, unix.EROFS, unix.EIO, unix.ESTALE, unix.EDQUOT}

// TestWhatFailsBeforeTheSweepStopsItBeforeItsFirstDelete makes each kind of change fail that comes before the first chunk goes.
func TestWhatFailsBeforeTheSweepStopsItBeforeItsFirstDelete(t *testing.T) {
	t.Parallel()
	for _, op := range []fsop.Op{fsop.OpTouch, fsop.OpSyncFS} {
		for _, errno := range errnos {
			store := scenario{before: 2, garbage: true}.store(t)
			store.Leftovers = true
			before := chunkFiles(t, store)
			disk := &fsop.Disk{Before: func(c fsop.Change) error {
				if c.Op == op {
					return errno
				}
				return nil
			}}
			opts := nothing
			opts.Touch = true
			report, err := store.OpenWith(disk).Collect(t.Context(), opts)
			if after := chunkFiles(t, store); !errors.Is(err, errno) || !slices.Equal(before, after) || report.RemovedChunks != 0 {
				t.Errorf("%s, %s: %v, %+v", op, unix.ErrnoName(errno), err, report)
			}
		}
	}
}

// TestAChunkThatHasVanishedIsNoReasonToStop takes ENOENT for what it is.
func TestAChunkThatHasVanishedIsNoReasonToStop(t *testing.T) {
	t.Parallel()
	store := scenario{before: 2, garbage: true}.store(t)
	store.Leftovers = true
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if c.Op == fsop.OpTouch || c.Op == fsop.OpRemove && strings.Contains(c.Path, ".chunks") {
			return unix.ENOENT
		}
		return nil
	}}
	opts := nothing
	opts.Touch = true
	if report, err := store.OpenWith(disk).Collect(t.Context(), opts); err != nil || report.RemovedChunks != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestChunksThatDoNotGoStopNoOthers lets some refuse, and then all.
func TestChunksThatDoNotGoStopNoOthers(t *testing.T) {
	t.Parallel()
	for _, errno := range errnos {
		for _, stubborn := range []int{3, 40} {
			store := scenario{before: 2}.store(t)
			for i := range byte(40) {
				putChunkFile(t, store, numberedDigest(i).String(), []byte{i})
			}
			refused := 0
			disk := &fsop.Disk{Before: func(c fsop.Change) error {
				if c.Op == fsop.OpRemove && strings.Contains(c.Path, ".chunks") && refused < stubborn {
					refused++
					return errno
				}
				return nil
			}}
			report, err := store.OpenWith(disk).Collect(t.Context(), nothing)
			want := map[int]int{3: 37, 40: 0}[stubborn]
			if !errors.Is(err, errno) || report.RemovedChunks != want || report.PendingChunks != 40-want || len(chunkFiles(t, store)) != 42-want {
				t.Errorf("%s, %d refuse: %v, %+v", unix.ErrnoName(errno), stubborn, err, report)
			}
		}
	}
}

// TestADirectoryThatCannotBeReadStopsACollection runs it as a user who may not read one.
func TestADirectoryThatCannotBeReadStopsACollection(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	for name, stops := range map[string]bool{"vm/100": true, "vm/100/" + first.String(): true, "vm": true, "somewhere": true, ".chunks/6c5a": true, "vm/100/lost+found": true, "lost+found": false, ".hidden": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const nobody = 65534
			store := scenario{before: 2}.store(t)
			putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
			dir := filepath.Join(store.Dir, name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			// All is theirs but the one directory.
			if err := exec.CommandContext(t.Context(), "chown", "-R", "65534:65534", store.Dir).Run(); err != nil {
				t.Skip(err)
			}
			if err := errors.Join(os.Chmod(filepath.Dir(store.Dir), 0o755), os.Chown(dir, 0, 0), os.Chmod(dir, 0o700)); err != nil {
				t.Fatal(err)
			}
			line := helperproc.Start(t, "collect as", store.Dir, fmt.Sprint(nobody)).Line()
			if stops != strings.Contains(line, "permission denied") || stops != strings.Contains(line, name) || stops != (len(chunkFiles(t, store)) == 3) {
				t.Error(line)
			}
		})
	}
}

// TestTooFewDescriptorsRemoveNothing lets the process run out of them somewhere on its way.
func TestTooFewDescriptorsRemoveNothing(t *testing.T) {
	t.Parallel()
	store := scenario{before: 2}.store(t)
	putChunkFile(t, store, numberedDigest(1).String(), []byte("x"))
	failed := 0
	for limit := 5; limit < 40; limit++ {
		line := helperproc.Start(t, "collect with limit", store.Dir, fmt.Sprint(limit)).Line()
		if line == "done" {
			break
		}
		failed++
		if !strings.Contains(line, "too many open files") || len(chunkFiles(t, store)) != 3 {
			t.Errorf("%d: %s", limit, line)
		}
	}
	if failed == 0 || len(chunkFiles(t, store)) != 2 {
		t.Errorf("%d failures, %q", failed, chunkFiles(t, store))
	}
}

// collectAs collects as another user.
func collectAs(ctx context.Context, args []string, pipe *helperproc.IO) error {
	if err := become(args[1]); err != nil {
		return err
	}
	return operate(ctx, []string{args[0], "record", "collect", "", "0", ""}, pipe)
}

// become gives the process another user, with all its threads.
func become(user string) error {
	uid, err := strconv.Atoi(user)
	if err != nil {
		return err
	}
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid))
}

// collectWithLimit collects with so many more descriptors than are open now.
func collectWithLimit(ctx context.Context, args []string, pipe *helperproc.IO) error {
	limit, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	// The runtime takes descriptors for itself when the first pipe is opened, and ends the process if there are none.
	r, w, err := os.Pipe()
	if err = errors.Join(err, r.Close(), w.Close()); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	return operate(ctx, []string{args[0], "record", "collect", "", "0", ""}, pipe)
}
