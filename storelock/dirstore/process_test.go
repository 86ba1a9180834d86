package dirstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

func TestManyProcessesAreNeverTwoAtATime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ processes, rounds, every int }{{8, 10, 3}, {32, 2, 2}} {
		t.Run(fmt.Sprint(c.processes), func(t *testing.T) {
			dir := t.TempDir()
			judge := filepath.Join(dir, "referee")
			must(t, os.WriteFile(judge, nil, 0o600))
			var procs []*helperproc.Proc
			for range c.processes {
				procs = append(procs, helperproc.Start(t, "contend", dir, judge, fmt.Sprint(c.rounds), fmt.Sprint(c.every)))
			}
			for _, p := range procs {
				p.WaitReady()
			}
			for _, p := range procs {
				p.Send("go")
			}
			var history []porcupine.Operation
			for id, p := range procs {
				for range c.rounds {
					n := fields(t, p.Line())
					if n[1] == 1 {
						t.Errorf("process %d was not alone", id)
					}
					history = append(history,
						porcupine.Operation{ClientId: id, Input: event{true, n[0] == 1}, Call: n[2], Return: n[3]},
						porcupine.Operation{ClientId: id, Input: event{false, n[0] == 1}, Call: n[4], Return: n[5]})
				}
				must(t, p.Wait())
			}
			if result := porcupine.CheckOperationsTimeout(lockModel(), history, 20*time.Second); result == porcupine.Illegal {
				t.Error("the history is not one of a lock")
			}
			wantNoObjects(t, dir)
		})
	}
}

// event is taking or giving back.
type event struct{ take, exclusive bool }

// lockModel has the number of shared holders as its state, -1 for an exclusive one.
func lockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, _ any) (bool, any) {
			n, e := state.(int), input.(event)
			switch {
			case e.take && e.exclusive:
				return n == 0, -1
			case e.take:
				return n >= 0, n + 1
			case e.exclusive:
				return n == -1, 0
			}
			return n > 0, n - 1
		},
		Equal: func(a, b any) bool { return a == b },
	}
}

func TestModelFindsTwoExclusiveHolders(t *testing.T) {
	t.Parallel()
	history := []porcupine.Operation{
		{ClientId: 0, Input: event{true, true}, Call: 1, Return: 2},
		{ClientId: 1, Input: event{true, true}, Call: 3, Return: 4},
		{ClientId: 0, Input: event{false, true}, Call: 5, Return: 6},
		{ClientId: 1, Input: event{false, true}, Call: 7, Return: 8},
	}
	if porcupine.CheckOperations(lockModel(), history) {
		t.Error("a history with two holders is taken for one of a lock")
	}
}

func TestStoppedHolderGoesOnIfNobodyCame(t *testing.T) {
	t.Parallel()
	p := helperproc.Start(t, "hold", t.TempDir(), "true")
	p.WaitReady()
	p.Stop()
	time.Sleep(2 * soon) // longer than its lock is good for
	p.Continue()
	p.Send("check")
	p.Expect("fine")
	p.Send("close")
	p.Expect("fine")
}

func TestStoppedHolderFindsOutThatOthersCame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := helperproc.Start(t, "hold", dir, "true")
	p.WaitReady()
	p.Stop()
	s := open(t, dir, dirstore.Options{})
	start := time.Now()
	g, err := storelock.Acquire(t.Context(), s, quick(true))
	must(t, err)
	if took := time.Since(start); took < soon {
		t.Errorf("taken over after %v", took)
	}
	p.Continue()
	p.Send("check")
	p.Expect("lost")
	must(t, g.Check(t.Context()))
	must(t, g.Close())
	p.Send("close")
	p.Expect("lost")
	wantNoObjects(t, dir)
}

func TestKilledHolderOfThisHostIsKnownToBeDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := helperproc.Start(t, "hold", dir, "true", "30m")
	p.WaitReady()
	p.Kill()
	s := open(t, dir, dirstore.Options{})
	if _, err := storelock.Acquire(t.Context(), s, storelock.Options{LeaseOnly: true}); !errors.Is(err, storelock.ErrTimeout) {
		t.Errorf("by its lease alone: %v", err)
	}
	g, err := storelock.Acquire(t.Context(), s, storelock.Options{}) // at once
	must(t, err)
	must(t, g.Close())
	wantNoObjects(t, dir)
}

// TestKillAtEachStepKeepsNobodyOut goes through acquire, refresh, migrate, break and
// release. What is left may be there, and does not count for a process that is dead.
func TestKillAtEachStepKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		for _, script := range []*fsoptest.Script{fsoptest.KillAt(n), fsoptest.KillAfter(n)} {
			dir := t.TempDir()
			p := helperproc.Start(t, "script", dir, script.Spec())
			err := p.Ended()
			if err == nil {
				if n < 8 {
					t.Errorf("only %d changes", n)
				}
				return
			}
			if err.Error() != "signal: killed" {
				t.Fatalf("%s: %v", script.Spec(), err)
			}
			s := open(t, dir, dirstore.Options{})
			g, err := storelock.Acquire(t.Context(), s, storelock.Options{Exclusive: true})
			if err != nil {
				t.Errorf("%s: %v", script.Spec(), err)
				continue
			}
			must(t, g.Close())
		}
	}
}

// TestOtherPIDNamespaceProvesNothing: same host name, same boot, other processes.
func TestOtherPIDNamespaceProvesNothing(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a pid namespace")
	}
	dir := t.TempDir()
	p := helperproc.StartWith(t, helperproc.Options{Cloneflags: unix.CLONE_NEWPID}, "hold", dir, "true", "30m")
	p.WaitReady()
	s := open(t, dir, dirstore.Options{})
	infos, err := storelock.List(t.Context(), s, storelock.Options{HostID: "same"})
	if err != nil || len(infos) != 1 || infos[0].PID != 1 || infos[0].Dead {
		t.Errorf("%+v, %v", infos, err)
	}
	if _, err := storelock.Acquire(t.Context(), s, storelock.Options{HostID: "same"}); !errors.Is(err, storelock.ErrTimeout) {
		t.Errorf("while it lives: %v", err)
	}
	p.Kill()
	if _, err := storelock.Acquire(t.Context(), s, storelock.Options{HostID: "same"}); !errors.Is(err, storelock.ErrTimeout) {
		t.Errorf("dead, which can't be known here: %v", err)
	}
}

// TestContainersOnOneHostAreNeverTwoAtATime: each contender is process 1 of its own
// namespace, and all have the same host name.
func TestContainersOnOneHostAreNeverTwoAtATime(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a pid namespace")
	}
	const rounds = 5
	dir := t.TempDir()
	judge := filepath.Join(dir, "referee")
	must(t, os.WriteFile(judge, nil, 0o600))
	var procs []*helperproc.Proc
	for range 4 {
		procs = append(procs, helperproc.StartWith(t, helperproc.Options{Cloneflags: unix.CLONE_NEWPID}, "contend", dir, judge, fmt.Sprint(rounds), "2"))
	}
	for _, p := range procs {
		p.WaitReady()
		p.Send("go")
	}
	for id, p := range procs {
		for range rounds {
			if fields(t, p.Line())[1] == 1 {
				t.Errorf("process %d was not alone", id)
			}
		}
		must(t, p.Wait())
	}
	wantNoObjects(t, dir)
}

func TestSignalsAtAnyMomentLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs := 60
	if testing.Short() {
		runs = 12
	}
	for n := range runs {
		p := helperproc.Start(t, "loop", dir)
		p.WaitReady()
		time.Sleep(time.Duration(n*7%41) * time.Millisecond) // any moment will do
		must(t, unix.Kill(p.PID, []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}[n%3]))
		must(t, p.Wait())
		for _, prefix := range []string{"locks", "queue"} {
			entries, _ := os.ReadDir(filepath.Join(dir, prefix))
			for _, e := range entries {
				t.Fatalf("run %d left %s/%s", n, prefix, e.Name())
			}
		}
	}
}
