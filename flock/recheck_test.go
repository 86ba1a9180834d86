package flock

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

// betweenOpenAndLock lets something happen at the worst moment, n times.
func betweenOpenAndLock(n int, happen func()) calls {
	c := flockCalls()
	lock := c.lock
	c.lock = func(fd int, m Mode) error {
		if n > 0 {
			n--
			happen()
		}
		return lock(fd, m)
	}
	return c
}

// The waiter has opened the old directory. It is removed, and made anew.
func TestWaiterNeverGetsADirectoryThatWasReplaced(t *testing.T) {
	t.Parallel()
	for _, remove := range []string{"rename", "rmdir"} {
		t.Run(remove, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			l, err := betweenOpenAndLock(1, func() { replace(t, dir, remove, true) }).acquire(Ref{Name: dir}, Exclusive)
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()
			if err := l.check(Ref.stat); err != nil {
				t.Errorf("the lock is on the old directory: %v", err)
			}
		})
	}
}

// As before, and somebody else locks the new one: there is one holder.
func TestWaiterFindsTheReplacementBusy(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	var holder *helperproc.Proc
	_, err := betweenOpenAndLock(1, func() {
		replace(t, dir, "rename", true)
		holder = helperproc.Start(t, "lock", "exclusive", dir)
		holder.WaitReady()
	}).acquire(Ref{Name: dir}, Exclusive)
	var busy *LockedError
	if !errors.As(err, &busy) || len(busy.Holders) != 1 || busy.Holders[0].PID != holder.PID {
		t.Errorf("acquire = %v, want busy by pid %d", err, holder.PID)
	}
}

func TestGoneIsNotExistAlsoWhileTheRemoverHoldsIt(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{false, true} {
		dir := newDir(t)
		if held {
			must(t, TryExclusive, Ref{Name: dir})
		}
		_, err := betweenOpenAndLock(1, func() { replace(t, dir, "rename", false) }).acquire(Ref{Name: dir}, Shared)
		if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrLocked) {
			t.Errorf("held by the remover %v: %v, want %v", held, err, fs.ErrNotExist)
		}
	}
}

func TestEndlessReplacementEndsAsChanged(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	_, err := betweenOpenAndLock(1000, func() { replace(t, dir, "rmdir", true) }).acquire(Ref{Name: dir}, Exclusive)
	if !errors.Is(err, ErrChanged) {
		t.Errorf("acquire = %v, want %v", err, ErrChanged)
	}
}

// replace removes a directory, and makes it again if it is to come back.
func replace(t *testing.T, dir, how string, again bool) {
	t.Helper()
	var err error
	if how == "rename" {
		err = os.Rename(dir, t.TempDir()+"/trash")
	} else {
		err = os.Remove(dir)
	}
	if err == nil && again {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestErrorsOfTheLockCallHaveTheirClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		errno unix.Errno
		want  error
	}{
		{unix.EWOULDBLOCK, ErrLocked},
		{unix.EBADF, ErrUnsupported},
		{unix.EINVAL, ErrUnsupported},
		{unix.ENOLCK, ErrUnsupported},
		{unix.ENOSYS, ErrUnsupported},
		{unix.EOPNOTSUPP, ErrUnsupported},
		{unix.ESTALE, ErrChanged},
		{unix.EMFILE, unix.EMFILE},
		{unix.ENOMEM, unix.ENOMEM},
		{unix.EIO, unix.EIO},
		{unix.EACCES, unix.EACCES},
		{unix.EPERM, unix.EPERM},
	} {
		for _, calls := range []calls{flockCalls(), recordCalls()} {
			tries := 0
			calls.lock = func(int, Mode) error { tries++; return c.errno }
			_, err := calls.acquire(Ref{Name: newFile(t)}, Exclusive)
			checkClass(t, c.errno.Error(), err, c.want)
			if want := map[bool]int{true: maxRounds, false: 1}[c.want == ErrChanged]; tries != want {
				t.Errorf("%v: %d attempts, want %d", c.errno, tries, want)
			}
			var pe *fs.PathError
			if c.want != ErrLocked && !errors.As(err, &pe) {
				t.Errorf("%v: %T is no *fs.PathError", c.errno, err)
			}
		}
	}
}

// checkClass wants exactly one of the three classes, or none.
func checkClass(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	for _, class := range []error{ErrLocked, ErrUnsupported, ErrChanged} {
		if class != want && errors.Is(err, class) {
			t.Errorf("%s: %v counts as %v", what, err, class)
		}
	}
}

func TestErrorsOfTheSecondLook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		errno unix.Errno
		want  error
	}{
		{unix.ENOENT, ErrChanged},
		{unix.ESTALE, ErrChanged},
		{unix.ENOTDIR, ErrChanged},
		{unix.EIO, unix.EIO},
		{unix.EACCES, unix.EACCES},
	} {
		for _, times := range []int{1, 1000} {
			calls := flockCalls()
			calls.stat = func(r Ref, st *unix.Stat_t) error {
				if times--; times >= 0 {
					return pathError("stat", r.Name, c.errno)
				}
				return r.stat(st)
			}
			once := times == 1 && c.want == ErrChanged
			l, err := calls.acquire(Ref{Name: newDir(t)}, Shared)
			if once && err != nil {
				t.Errorf("%v once: %v, want a second attempt", c.errno, err)
			}
			if !once {
				checkClass(t, c.errno.Error(), err, c.want)
			}
			if err == nil {
				l.close()
			}
		}
	}
}

func TestADirectoryWithoutANameIsNotHeld(t *testing.T) {
	t.Parallel()
	calls := flockCalls()
	calls.fstat = func(fd int, st *unix.Stat_t) error {
		err := fstat(fd, st)
		st.Nlink = 0 // what some file systems say for as long as it is open
		return err
	}
	_, err := calls.acquire(Ref{Name: newDir(t)}, Exclusive)
	checkClass(t, "no link", err, ErrChanged)
}

func TestSignalsAreNoErrors(t *testing.T) {
	t.Parallel()
	const signals = 100 // far more than there are rounds
	for _, calls := range []calls{flockCalls(), recordCalls()} {
		lock, look := calls.lock, calls.fstat
		locks, looks := 0, 0
		calls.lock = func(fd int, m Mode) error {
			if locks++; locks <= signals {
				return unix.EINTR
			}
			return lock(fd, m)
		}
		calls.fstat = func(fd int, st *unix.Stat_t) error {
			if looks++; looks <= signals {
				return unix.EINTR
			}
			return look(fd, st)
		}
		l, err := calls.acquire(Ref{Name: newFile(t)}, Exclusive)
		if err != nil {
			t.Fatal(err)
		}
		l.close()
	}
}

func TestStaleOpenIsTriedAgain(t *testing.T) {
	t.Parallel()
	calls, stale := flockCalls(), 3
	open := calls.open
	calls.open = func(r Ref, m Mode) (int, error) {
		if stale--; stale >= 0 {
			return -1, pathError("open", r.Name, unix.ESTALE)
		}
		return open(r, m)
	}
	l, err := calls.acquire(Ref{Name: newDir(t)}, Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	l.close()
}

func TestNoDescriptorIsLeftAfterAnError(t *testing.T) {
	// Not parallel: it counts the descriptors of the process.
	dir := newDir(t)
	before := len(numbers("/proc/self/fd"))
	g := must(t, TryExclusive, Ref{Name: dir})
	for range 20 {
		_, err := TryShared(Ref{Name: dir})
		checkClass(t, "busy", err, ErrLocked)
		_, err = TryShared(Ref{Name: dir + "/none"})
		checkClass(t, "gone", err, fs.ErrNotExist)
		c := flockCalls()
		c.lock = func(int, Mode) error { return unix.EIO }
		_, err = c.acquire(Ref{Name: dir}, Shared)
		checkClass(t, "broken", err, unix.EIO)
	}
	g.Close()
	if after := len(numbers("/proc/self/fd")); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}
