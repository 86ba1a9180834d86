package flock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func TestStoppedHolderHoldsAndKilledHolderDoesNot(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"exclusive", "record exclusive"} {
		name := newFile(t)
		p := helperproc.Start(t, "lock", kind, name)
		p.WaitReady()
		p.Stop()
		var busy *LockedError
		if _, err := take[kind](Ref{Name: name}); !errors.As(err, &busy) {
			t.Fatalf("%s: stopped holder: %v", kind, err)
		}
		if len(busy.Holders) != 1 || busy.Holders[0].PID != p.PID {
			t.Errorf("%s: holders %+v, want pid %d", kind, busy.Holders, p.PID)
		}
		p.Kill()
		must(t, take[kind], Ref{Name: name})
	}
}

// The program flock(1) stands for everybody who locks the same directory.
func TestForeignProgramAndWeExcludeEachOther(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("flock")
	if err != nil {
		t.Skip("needs flock(1) of util-linux")
	}
	dir := newDir(t)
	free := func(how ...string) error {
		return exec.Command(tool, append(how, "--shared", dir, "true")...).Run()
	}

	g := must(t, TryExclusive, Ref{Name: dir})
	var exit *exec.ExitError
	if err := free("--nonblock"); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("flock(1) while we hold it: %v", err)
	}
	g.Close()
	if err := free("--wait", "10"); err != nil {
		t.Errorf("flock(1) after Close: %v", err)
	}

	cmd := exec.Command(tool, "--no-fork", "--exclusive", dir, "cat")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has the lock now
		t.Fatal(err)
	}
	var busy *LockedError
	if _, err := TryShared(Ref{Name: dir}); !errors.As(err, &busy) {
		t.Fatalf("TryShared while flock(1) holds it: %v", err)
	}
	if len(busy.Holders) != 1 || busy.Holders[0].PID != cmd.Process.Pid || busy.Holders[0].Command != "cat" {
		t.Errorf("holders %+v, want cat, pid %d", busy.Holders, cmd.Process.Pid)
	}
}

func TestInheritedLock(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (string, *ExclusiveGuard, *helperproc.Proc) {
		t.Helper()
		name := newDir(t)
		g := must(t, TryExclusive, Ref{Name: name})
		p := helperproc.StartWith(t, helperproc.Options{ExtraFiles: []*os.File{g.File()}}, "keep")
		p.WaitReady()
		return name, g, p
	}
	t.Run("is still ours when the child ends", func(t *testing.T) {
		t.Parallel()
		name, _, p := start(t)
		p.Kill()
		if _, err := TryShared(Ref{Name: name}); !errors.Is(err, ErrLocked) {
			t.Errorf("TryShared = %v, want busy", err)
		}
	})
	t.Run("is the child's after Close, and the child is named", func(t *testing.T) {
		t.Parallel()
		name, g, p := start(t)
		g.Close() // would take it from the child if it were an unlock
		var busy *LockedError
		if _, err := TryShared(Ref{Name: name}); !errors.As(err, &busy) {
			t.Fatalf("TryShared = %v, want busy", err)
		}
		if named := pids(busy.Holders); !slices.Contains(named, p.PID) || slices.Contains(named, os.Getpid()) {
			t.Errorf("holders %v, want %d and not %d", named, p.PID, os.Getpid())
		}
		p.Kill()
		must(t, TryShared, Ref{Name: name})
	})
}

func TestAnUnrelatedChildInheritsNothing(t *testing.T) {
	t.Parallel()
	name := newDir(t)
	g := must(t, TryExclusive, Ref{Name: name})
	p := helperproc.Start(t, "keep")
	p.WaitReady()
	g.Close()
	must(t, TryExclusive, Ref{Name: name})
}

// A forgotten guard stays locked, whatever the garbage collector does.
func TestForgottenGuardStaysLockedAndShows(t *testing.T) {
	t.Parallel()
	var args, kinds []string
	for kind := range take {
		kinds = append(kinds, kind)
		args = append(args, kind, newFile(t))
	}
	p := helperproc.Start(t, "forget", args...)
	p.WaitReady()
	for i, kind := range kinds {
		name := args[2*i+1]
		p.Expect(name)
		want := "exclusive"
		if kind == "record shared" || kind == "record exclusive" {
			want = "record exclusive"
		}
		if _, err := take[want](Ref{Name: name}); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v, want busy", kind, err)
		}
	}
}

// roleForget takes locks, drops what it has of them, and makes garbage.
func roleForget(_ context.Context, args []string, c *helperproc.IO) error {
	for pair := range slices.Chunk(args, 2) {
		g, err := take[pair[0]](Ref{Name: pair[1]})
		if err != nil {
			return err
		}
		g.(interface{ File() *os.File }).File() // the runtime closes it when it is garbage
	}
	for range 50 {
		makeGarbage()
	}
	c.Ready()
	held := Held()
	for pair := range slices.Chunk(args, 2) {
		if !slices.Contains(held, pair[1]) {
			return errors.New("not in Held: " + pair[1])
		}
		c.Say(pair[1])
	}
	_, _ = c.Next()
	return nil
}

func makeGarbage() {
	_ = make([][]byte, 100)
	runtime.GC()
	runtime.Gosched() // lets the finalizers run
}

func TestGoroutinesAreAsForeignAsProcesses(t *testing.T) {
	t.Parallel()
	const many = 100
	root := t.TempDir()
	own := func(i int) (string, string) {
		return root + "/dir" + strconv.Itoa(i), root + "/file" + strconv.Itoa(i)
	}
	for i := range many {
		dir, file := own(i)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	shared := newDir(t)
	wins := make(chan *ExclusiveGuard, many)
	errs := make(chan error, many)
	for i := range many {
		go func() {
			dir, file := own(i)
			a, err1 := TryExclusive(Ref{Name: dir})
			b, err2 := TryRecordExclusive(Ref{Name: file})
			_, err3 := TryShared(Ref{Name: dir})
			_, err4 := TryRecordShared(Ref{Name: file})
			if !errors.Is(err3, ErrLocked) || !errors.Is(err4, ErrLocked) {
				err1 = errors.Join(err1, errors.New("no conflict"), err3, err4)
			}
			if g, err := TryExclusive(Ref{Name: shared}); err == nil {
				wins <- g
			} else if !errors.Is(err, ErrLocked) {
				err1 = errors.Join(err1, err)
			}
			errs <- errors.Join(err1, err2, a.Close(), b.Close())
		}()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if len(wins) != 1 {
		t.Errorf("%d goroutines hold one directory", len(wins))
	}
	for len(wins) > 0 {
		(<-wins).Close()
	}
}

// Files that become garbage are closed by the runtime at any moment, and their
// numbers go to other files: a lock must never land on one of those.
func TestNumbersOfCollectedFilesAreNeverLocked(t *testing.T) {
	t.Parallel()
	collections := 100
	if testing.Short() {
		collections = 20
	}
	stop, done := make(chan struct{}), make(chan error)
	const workers = 4
	for range workers {
		name, bystander := newDir(t), newFile(t)
		go func() {
			var err error
			for err == nil && !closed(stop) {
				err = lockAmongGarbage(name, bystander)
			}
			done <- err
		}()
	}
	for range collections {
		makeGarbage()
	}
	close(stop)
	for range workers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func lockAmongGarbage(name, bystander string) error {
	if _, err := os.Open(bystander); err != nil { // and from here on it is garbage
		return err
	}
	g, err := Take(context.Background(), Wait{Timeout: patience}, func() (*ExclusiveGuard, error) {
		return TryExclusive(Ref{Name: name})
	})
	if err != nil {
		return err
	}
	var own, now unix.Stat_t
	err = errors.Join(withFD(g.File(), func(fd int) error { return fstat(fd, &own) }), unix.Stat(name, &now), g.Check())
	if err == nil && own.Ino != now.Ino {
		err = errors.New("the lock is on another file")
	}
	return errors.Join(err, g.Close())
}
