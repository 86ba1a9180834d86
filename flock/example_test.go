package flock_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pbs-like/pbs-like/flock"
)

// group makes a directory to lock and opens its parent.
func group() (store *os.File, remove func()) {
	root, _ := os.MkdirTemp("", "example")
	_ = os.MkdirAll(filepath.Join(root, "vm/100"), 0o755)
	store, _ = os.Open(root)
	return store, func() {
		store.Close()
		os.RemoveAll(root)
	}
}

func Example() {
	store, remove := group()
	defer remove()

	guard, err := flock.TryExclusive(flock.Ref{Dir: store, Name: "vm/100"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()

	_, err = flock.TryShared(flock.Ref{Dir: store, Name: "vm/100"})
	fmt.Println("locked:", errors.Is(err, flock.ErrLocked))
	_, err = flock.TryShared(flock.Ref{Dir: store, Name: "vm/101"})
	fmt.Println("no such group:", errors.Is(err, fs.ErrNotExist))
	// Output:
	// locked: true
	// no such group: true
}

// Two locks are waited for together: if the second one is busy, the first one is
// given back before the next attempt.
func ExampleWait_Do() {
	store, remove := group()
	defer remove()

	var group, vm *flock.SharedGuard
	wait := flock.Wait{Timeout: 5 * time.Second, Busy: func(err error) { fmt.Println("waiting:", err) }}
	err := wait.Do(context.Background(), func() (err error) {
		if vm, err = flock.TryShared(flock.Ref{Dir: store, Name: "vm"}); err != nil {
			return err
		}
		if group, err = flock.TryShared(flock.Ref{Dir: store, Name: "vm/100"}); err != nil {
			return errors.Join(err, vm.Close())
		}
		return nil
	})
	fmt.Println(err)
	fmt.Println(len(flock.Held()))
	_ = errors.Join(group.Close(), vm.Close())
	// Output:
	// <nil>
	// 2
}

func ExampleTake() {
	store, remove := group()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	guard, err := flock.Take(ctx, flock.Wait{Timeout: 5 * time.Second}, func() (*flock.ExclusiveGuard, error) {
		return flock.TryExclusive(flock.Ref{Dir: store, Name: "vm/100"})
	})
	fmt.Println(err)
	fmt.Println(guard.Close())
	// Output:
	// <nil>
	// <nil>
}

func ExampleLockedError() {
	err := &flock.LockedError{Path: "/srv/store/vm/100", Mode: flock.Exclusive, Holders: []flock.Holder{{
		PID: 4711, Command: "pbs-like restore vm/100", User: "backup", UID: 34,
		Mode: flock.Shared, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}}}
	fmt.Println(err)
	// Output:
	// "/srv/store/vm/100" is in use: locked shared by pid 4711 ("pbs-like restore vm/100", user backup, running since 2026-01-02T03:04:05Z)
}
