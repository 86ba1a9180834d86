package datastore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/pbsrun"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// style is how a server locks.
type style string

const (
	newServer    style = "3.3.5 and later"
	markedServer style = "3.3.5 and later, with the mark of old locking"
	oldServer    style = "before 3.3.5"
)

// servedStore is a store that a server on this machine is configured to serve.
type servedStore struct {
	*testds.Store
	place datastore.ServerPlace
	style style
}

// serve makes a server for a store, whose daemons run as the user of the test.
func serve(t testing.TB, store *testds.Store, style style, more ...string) *servedStore {
	t.Helper()
	base := testds.TempDir(t)
	s := &servedStore{Store: store, style: style, place: datastore.ServerPlace{
		Etc: filepath.Join(base, "etc"), Run: filepath.Join(base, "run/proxmox-backup"),
		Mounts: filepath.Join(base, "mnt"), User: fmt.Sprint(os.Geteuid()),
	}}
	for _, dir := range []string{s.place.Etc, s.place.Run} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.configure(more...)
	if style == markedServer {
		write(t, filepath.Join(s.place.Run, "old-locking"), "")
	}
	return s
}

// configure writes the server's configuration.
func (s *servedStore) configure(more ...string) {
	s.T.Helper()
	text := "datastore: main\n\tpath " + s.Dir + "\n"
	for _, line := range more {
		text += "\t" + line + "\n"
	}
	write(s.T, filepath.Join(s.place.Etc, "datastore.cfg.new"), text)
	if err := os.Rename(filepath.Join(s.place.Etc, "datastore.cfg.new"), filepath.Join(s.place.Etc, "datastore.cfg")); err != nil {
		s.T.Fatal(err)
	}
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// open opens the store as somebody who knows of the server.
func (s *servedStore) open() *datastore.Datastore {
	s.T.Helper()
	return s.Open(datastore.Options{Server: s.place})
}

// do runs one of our operations beside the server.
func (s *servedStore) do(o operation) error {
	o.server, o.hasty = s.place, true
	return o.run(s.T.Context(), s.Dir, nil, nil)
}

// locksFile is the path of a lock file.
func (s *servedStore) locksFile(name string) string {
	return filepath.Join(s.place.Run, "locks/main", name)
}

// The locks of the server, as the format's description has them.

func (s *servedStore) group(group, mode string) string { return s.lockIn("", group, mode) }

// lockIn is a lock of a group, or of a snapshot, in a namespace.
func (s *servedStore) lockIn(ns, name, mode string) string {
	if s.style == newServer {
		return "file " + mode + " " + s.locksFile(pbsrun.LockName(ns, name))
	}
	return "dir " + mode + " " + filepath.Join(s.Dir, namespace(ns).Dir(), name)
}

func (s *servedStore) snapshot(group string, time backupinfo.Time, mode string) string {
	return s.group(group+"/"+time.String(), mode)
}

func (s *servedStore) manifest(group string, time backupinfo.Time) string {
	if s.style == newServer {
		return "file exclusive " + s.locksFile(pbsrun.ManifestLockName("", group+"/"+time.String()))
	}
	return "file exclusive " + s.locksFile(pbsrun.OldManifestLockName(group+"/"+time.String()))
}

func (s *servedStore) store(mode string) string {
	return "posix " + mode + " " + filepath.Join(s.Dir, ".lock")
}

// serverOperations are the locks that a server has during what it does.
func (s *servedStore) serverOperations() map[string][]string {
	const group = "vm/100"
	backup := []string{s.store("shared"), s.group(group, "exclusive"), s.snapshot(group, second, "shared")}
	if s.style == newServer { // in the old style the new one's directory is made first, and is its own lock
		backup = append(backup, s.snapshot(group, third, "exclusive"))
	}
	operations := map[string][]string{
		"back up":      backup,
		"restore base": {s.snapshot(group, second, "shared")},
		"remove base":  {s.snapshot(group, second, "exclusive"), s.manifest(group, second)},
		"remove group": {s.group(group, "exclusive"), s.snapshot(group, first, "exclusive"), s.snapshot(group, second, "exclusive")},
		"protect base": {s.snapshot(group, second, "exclusive")},
		"note on base": {s.manifest(group, second)},
		"change owner": {s.group(group, "exclusive")},
		"collect":      {s.store("exclusive")},

		"restore in a":    {s.lockIn("a", group+"/"+first.String(), "shared")},
		"back up third":   {s.store("shared"), s.group("vm/300", "exclusive")},
		"restore another": {s.snapshot("vm/300", first, "shared")},
		"back up in b":    {s.store("shared"), s.lockIn("b", "vm/300", "exclusive")},
		"restore in b":    {s.lockIn("b", "vm/300/"+second.String(), "shared")},
	}
	if s.style == newServer { // of what is not there a directory's lock can't be had
		operations["make group in b"] = []string{s.lockIn("b", group, "exclusive")}
		operations["make snapshot in b"] = []string{s.lockIn("b", group+"/"+first.String(), "exclusive")}
		operations["make merged"] = []string{s.lockIn("b", "vm/300/"+first.String(), "exclusive")}
		operations["make group in b/c"] = []string{s.lockIn("b/c", group, "exclusive")}
		operations["make snapshot in b/c"] = []string{s.lockIn("b/c", group+"/"+first.String(), "exclusive")}
	}
	return operations
}

// standIn takes locks as a server does. It is told "hold" or "try" and the locks,
// says "ready", or "busy" and which, and lets go of what it tried, or has, with "release".
func standIn(_ context.Context, _ []string, pipe *helperproc.IO) error {
	var held []int
	release := func() {
		for _, fd := range held {
			unix.Close(fd)
		}
		held = nil
	}
	for pipe.Ready(); ; {
		line, err := pipe.Next()
		if err != nil {
			return nil //nolint:nilerr // the test is over
		}
		what, locks, _ := strings.Cut(line, " ")
		answer := "ready"
		for lock := range strings.SplitSeq(locks, "|") {
			if lock == "" {
				continue
			}
			fd, err := serverLock(strings.SplitN(lock, " ", 3))
			if err != nil {
				answer = fmt.Sprintf("busy %s: %v", lock, err)
				break
			}
			held = append(held, fd)
		}
		if what != "hold" {
			release()
		}
		pipe.Say(answer)
	}
}

func serverLock(spec []string) (int, error) {
	kind, mode, path := spec[0], spec[1], spec[2]
	flags := unix.O_RDONLY | unix.O_DIRECTORY
	switch kind {
	case "file":
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return -1, err
		}
		flags = unix.O_RDWR | unix.O_CREAT
	case "posix":
		flags = unix.O_RDWR
	}
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o660)
	if err != nil {
		return -1, err
	}
	if kind == "posix" {
		lock := unix.Flock_t{Type: unix.F_RDLCK}
		if mode == "exclusive" {
			lock.Type = unix.F_WRLCK
		}
		return fd, unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &lock)
	}
	how := unix.LOCK_SH
	if mode == "exclusive" {
		how = unix.LOCK_EX
	}
	if err := unix.Flock(fd, how|unix.LOCK_NB); err != nil {
		unix.Close(fd)
		return -1, err
	}
	var own, now unix.Stat_t
	if unix.Fstat(fd, &own) != nil || unix.Stat(path, &now) != nil || own.Ino != now.Ino {
		unix.Close(fd)
		return -1, fmt.Errorf("could not acquire lock, another thread modified the lock file")
	}
	return fd, nil
}

// serverProcess is a stand-in that runs.
type serverProcess struct{ *helperproc.Proc }

func startServer(t testing.TB) serverProcess {
	t.Helper()
	return startServerAs(t, helperproc.Options{})
}

func startServerAs(t testing.TB, user helperproc.Options) serverProcess {
	t.Helper()
	p := helperproc.StartWith(t, user, "stand in")
	p.WaitReady()
	return serverProcess{p}
}

func (p serverProcess) hold(t testing.TB, locks ...string) {
	t.Helper()
	p.Send("hold " + strings.Join(locks, "|"))
	if line := p.Line(); line != "ready" {
		t.Fatalf("the stand-in: %s", line)
	}
}

// try tells whether the server could do something now.
func (p serverProcess) try(locks ...string) string {
	p.Send("try " + strings.Join(locks, "|"))
	return p.Line()
}
