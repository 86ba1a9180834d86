package flock

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func TestBusyNamesTheHolder(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"shared", "exclusive", "record shared", "record exclusive"} {
		name := newFile(t)
		before := time.Now()
		p := helperproc.Start(t, "lock", kind, name)
		p.WaitReady()
		wanted := "exclusive"
		if strings.HasPrefix(kind, "record") {
			wanted = "record exclusive"
		}
		var busy *LockedError
		if _, err := take[wanted](Ref{Name: name}); !errors.As(err, &busy) {
			t.Fatalf("%s: %v", kind, err)
		}
		if busy.Path != name || busy.Mode != Exclusive || len(busy.Holders) != 1 {
			t.Fatalf("%s: %+v", kind, busy)
		}
		h := busy.Holders[0]
		if h.PID != p.PID || h.UID != os.Getuid() || !strings.HasSuffix(h.Command, kind+" "+name) {
			t.Errorf("%s: %+v", kind, h)
		}
		if (h.Mode == Shared) != strings.HasSuffix(kind, "shared") || (h.Kind == OFD) != (wanted != "exclusive") {
			t.Errorf("%s: mode %v, kind %v", kind, h.Mode, h.Kind)
		}
		if age := h.Since.Sub(before); age < -2*time.Second || age > 20*time.Second {
			t.Errorf("%s: running since %v, started at %v", kind, h.Since, before)
		}
		for _, want := range []string{"is in use: locked ", name, "by pid ", "user " + h.User} {
			if !strings.Contains(busy.Error(), want) {
				t.Errorf("%s: %q is not in %q", kind, want, busy)
			}
		}
	}
}

func TestOnlyThoseInTheWayAreNamed(t *testing.T) {
	t.Parallel()
	name := newFile(t)
	must(t, TryRecordExclusive, Ref{Name: name}) // in nobody's way here
	reader := helperproc.Start(t, "lock", "shared", name)
	reader.WaitReady()
	must(t, TryShared, Ref{Name: name})
	var busy *LockedError
	if _, err := TryExclusive(Ref{Name: name}); !errors.As(err, &busy) {
		t.Fatal(err)
	}
	want := []int{min(os.Getpid(), reader.PID), max(os.Getpid(), reader.PID)}
	if got := pids(busy.Holders); !slices.Equal(got, want) {
		t.Errorf("holders %v, want %v", got, want)
	}
	if !strings.Contains(busy.Error(), "by this process") {
		t.Errorf("%q does not name this process", busy)
	}
}

func pids(holders []Holder) []int {
	var all []int
	for _, h := range holders {
		all = append(all, h.PID)
	}
	return all
}

func TestHoldersListsAllKinds(t *testing.T) {
	t.Parallel()
	name := newFile(t)
	must(t, TryRecordShared, Ref{Name: name})
	g := must(t, TryShared, Ref{Name: name})
	found, err := Holders(g.File())
	// Without a child that another test is just starting, and that has all files.
	found = slices.DeleteFunc(found, func(h Holder) bool { return h.PID != os.Getpid() })
	if err != nil || len(found) != 2 || found[0].Kind != Flock || found[1].Kind != OFD {
		t.Errorf("Holders = %+v, %v", found, err)
	}
}

func TestAnotherUsersHolderIsNamedAsFarAsKnown(t *testing.T) {
	t.Parallel()
	nobody := helperproc.Options{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	needs(t, nobody)
	dir := newDir(t)
	if err := errors.Join(os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	p := helperproc.Start(t, "lock", "exclusive", dir)
	p.WaitReady()
	asks := helperproc.StartWith(t, nobody, "try", "shared", dir)
	asks.WaitReady()
	asks.Send("try")
	got := asks.Line()
	if !strings.Contains(got, "exclusively by pid") || !strings.Contains(got, "user root") {
		t.Errorf("as another user: %q", got)
	}
}

// In a process namespace with a /proc of its own the holder can't be seen.
func TestHolderInAnotherNamespaceIsUnknown(t *testing.T) {
	t.Parallel()
	alone := helperproc.Options{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	needs(t, alone)
	dir := newDir(t)
	must(t, TryExclusive, Ref{Name: dir})
	asks := helperproc.StartWith(t, alone, "contained", "shared", dir)
	asks.WaitReady()
	asks.Send("try")
	if got := asks.Line(); !strings.Contains(got, "is in use: locked by somebody who can't be seen from here") {
		t.Errorf("in a container: %q", got)
	}
}

func TestHolderInsideANamespaceIsNamedFromOutside(t *testing.T) {
	t.Parallel()
	inside := helperproc.Options{Cloneflags: unix.CLONE_NEWPID}
	needs(t, inside)
	dir := newDir(t)
	p := helperproc.StartWith(t, inside, "lock", "exclusive", dir)
	p.WaitReady()
	var busy *LockedError
	if _, err := TryShared(Ref{Name: dir}); !errors.As(err, &busy) {
		t.Fatal(err)
	}
	if len(busy.Holders) != 1 || busy.Holders[0].PID != p.PID {
		t.Errorf("holders %+v, want pid %d", busy.Holders, p.PID)
	}
}

// needs skips a test whose process may not be started here: not without root, and
// in many a container not with it.
func needs(t *testing.T, o helperproc.Options) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: o.Credential, Cloneflags: o.Cloneflags}
	if err := cmd.Run(); err != nil {
		t.Skipf("needs root, to be another user or in another namespace: %v", err)
	}
}

func TestMessageReadsWell(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	backup := Holder{PID: 4711, Command: "pbs-like backup", User: "root", Mode: Exclusive, Since: since}
	reader := Holder{PID: 12, UID: -1}
	for want, holders := range map[string][]Holder{
		`"/srv/vm/100" is in use: locked by somebody who can't be seen from here`:                                                    nil,
		`"/srv/vm/100" is in use: locked exclusively by pid 4711 ("pbs-like backup", user root, running since 2026-01-02T02:04:05Z)`: {backup},
		`"/srv/vm/100" is in use: locked shared by pid 12, and shared by an unknown process`:                                         {reader, {PID: -1}},
		`"/srv/vm/100" is in use: locked` + strings.Repeat(" shared by pid 12, and", 4) + ` shared by pid 12, and by 2 more`:         {reader, reader, reader, reader, reader, reader, reader},
	} {
		if got := (&LockedError{Path: "/srv/vm/100", Holders: holders}).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
